// SPDX-License-Identifier: Apache-2.0
#include "byoc/declined_regions.h"

#include <utility>

#include "relay/structural_equal.h"

namespace tessera::byoc {
namespace {

relay::Function without_symbol(relay::Function region) {
  region.attrs.erase("global_symbol");
  return region;
}

}  // namespace

void DeclinedRegions::add(relay::Function region, const ConstantPool& pool, std::string why) {
  if (find(region, pool)) return;
  region = without_symbol(std::move(region));
  const std::uint64_t hash = relay::structural_hash(region, &pool);
  by_hash_[hash].push_back({std::move(region), pool, std::move(why)});
}

std::optional<relay::Refusal> DeclinedRegions::find(const relay::Function& region,
                                                    const ConstantPool& pool) const {
  if (empty()) return std::nullopt;
  const relay::Function nameless = without_symbol(region);
  const auto same_hash = by_hash_.find(relay::structural_hash(nameless, &pool));
  if (same_hash == by_hash_.end()) return std::nullopt;
  for (const Known& known : same_hash->second) {
    if (relay::structural_equal(known.region, nameless, {&known.pool, &pool})) {
      return relay::Refusal{known.why};
    }
  }
  return std::nullopt;
}

}  // namespace tessera::byoc
