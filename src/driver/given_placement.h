// SPDX-License-Identifier: Apache-2.0
// Who computes which nodes of `main`, by number of the node: a plan of the second level, and its
// text in records.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/placer.h"
#include "collage/evolution.h"

namespace tessera::driver {

struct GivenPlacement {
  collage::NodePlacement by_node;
  std::vector<std::string> back_ends;  // what the numbers mean
};

// "12 onednn, 3 native": so many nodes, in their order.
std::string to_string(const GivenPlacement& placement);
std::optional<GivenPlacement> parse_placement(std::string_view text);

// Back ends that take what patterns match, and the one that takes operators that are no loops.
struct SplitChoices {
  std::vector<byoc::BackendChoice> back_ends;
  byoc::BackendChoice rest;
};
SplitChoices split_choices(std::span<const byoc::BackendChoice> choices);

// Functions beside `main`, and a `main` of other nodes, go by the order of the choices.
class GivenPlacer final : public byoc::Placer {
 public:
  explicit GivenPlacer(GivenPlacement placement) : placement_(std::move(placement)) {}
  Result<byoc::PartitionOutcome> place(Module module,
                                       std::span<const byoc::BackendChoice> choices) override;

 private:
  std::optional<byoc::Assignment> assignment_of(const relay::Function& main,
                                                const SplitChoices& choices) const;
  GivenPlacement placement_;
};

}  // namespace tessera::driver
