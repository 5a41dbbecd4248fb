// SPDX-License-Identifier: Apache-2.0
// The table of target kinds: machines, and what the folders of back ends list.
#include <algorithm>

#include "types/option_rules.h"
#include "types/processor.h"
#include "types/target.h"

namespace tessera {
namespace {

std::vector<TargetKind> make_kinds() {
  using Int = std::int64_t;
  using Ints = std::vector<Int>;
  using Text = std::string;
  std::vector<TargetKind> kinds;
#define MACHINE(name, alias, device) kinds.push_back({#name, alias, DeviceType::device, false, {}});
#define KIND(name, device) kinds.push_back({#name, "", DeviceType::device, true, {}});
#define OPTION(name, ...) kinds.back().options.push_back({#name, __VA_ARGS__});
// Machines first; the list of back ends forgets the macros.
// clang-format off
#include "types/machines.def"
#include "backends/backends.def"
// clang-format on
#undef MACHINE
  return kinds;
}

}  // namespace

std::string_view to_string(DeviceType device) {
  return device == DeviceType::kCpu ? "cpu" : "cuda";
}

const TargetOption* TargetKind::find_option(std::string_view option) const {
  const auto it = std::find_if(options.begin(), options.end(),
                               [option](const TargetOption& o) { return o.name == option; });
  return it != options.end() ? &*it : nullptr;
}

std::span<const TargetKind> target_kinds() {
  static const std::vector<TargetKind> kinds = make_kinds();
  return kinds;
}

const TargetKind* find_target_kind(std::string_view name) {
  for (const auto& kind : target_kinds()) {
    if (kind.name == name || (!kind.alias.empty() && kind.alias == name)) return &kind;
  }
  return nullptr;
}

}  // namespace tessera
