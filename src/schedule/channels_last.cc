// SPDX-License-Identifier: Apache-2.0
#include "schedule/channels_last.h"

#include <utility>

#include <fmt/format.h>

namespace tessera::schedule {
namespace {

using tir::Expr;

constexpr std::int64_t kLeastChannels = 16;
constexpr std::int64_t kLeastUses = 64;  // of an element, in multiplications

// The loop of the reduction that is one index of the load, which is not the last.
struct Channels {
  std::size_t loop, dimension;
};
std::optional<Channels> channels_of(const Product& p, const tir::Load& load) {
  for (std::size_t k = 0; k < p.reduction.size(); ++k) {
    if (p.reduction[k].size() < kLeastChannels) continue;
    const auto d = dimension_along(load, p.reduction[k].var);
    if (d && *d + 1 < load.indices.size()) return Channels{k, *d};
  }
  return std::nullopt;
}

std::int64_t uses_of_an_element(const Product& p, const Channels& channels) {
  std::int64_t uses = p.n.size();
  for (const Loop& l : p.shared_batch) uses *= l.size();
  for (std::size_t k = 0; k < p.reduction.size(); ++k) {
    if (k != channels.loop) uses *= p.reduction[k].size();
  }
  return uses;
}

}  // namespace

std::optional<ChannelsLast> put_channels_last(Product& p) {
  const tir::Load* load = load_of(p.a);
  if (!p.is_constant || p.neighbours != 1 || load == nullptr) return std::nullopt;
  const auto channels = channels_of(p, *load);
  if (!channels || uses_of_an_element(p, *channels) < kLeastUses) return std::nullopt;
  const tir::Buffer from = load->buffer;
  std::vector<Expr> shape = from->shape, indices = load->indices;
  Nest nest;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    nest.loops.push_back({tir::make_var(fmt::format("d{}", d)), shape[d]});
  }
  std::vector<Expr> places;
  for (const Loop& l : nest.loops) places.push_back(l.var);
  const Expr value = tir::load(from, places);
  for (auto* of : {&shape, &indices, &places}) {
    *of = with_last(std::move(*of), channels->dimension);
  }
  nest.loops = with_last(std::move(nest.loops), channels->dimension);
  const tir::Buffer copy = tir::make_buffer("channels_last", from->dtype, shape);
  nest.body = tir::Store::make(copy, places, value);
  p.a = tir::cast(tir::load(copy, indices), p.a.dtype());
  p.reduction = with_last(std::move(p.reduction), channels->loop);
  return ChannelsLast{copy, std::move(nest)};
}

}  // namespace tessera::schedule
