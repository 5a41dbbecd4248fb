// SPDX-License-Identifier: Apache-2.0
#include "driver/given_placement.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "collage/model_candidates.h"
#include "driver/placement.h"
#include "driver/runtime_operators.h"

namespace tessera::driver {

using collage::kNative;
using collage::kNobody;

std::string to_string(const GivenPlacement& placement) {
  std::string text;
  const collage::NodePlacement& by_node = placement.by_node;
  for (std::size_t i = 0; i < by_node.size();) {
    const auto end = std::find_if(by_node.begin() + static_cast<std::ptrdiff_t>(i), by_node.end(),
                                  [&](std::int16_t who) { return who != by_node[i]; });
    const auto count = static_cast<std::size_t>(end - by_node.begin()) - i;
    const std::int16_t who = by_node[i];
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", count,
                    who == kNobody ? kNative : placement.back_ends[static_cast<std::size_t>(who)]);
    i += count;
  }
  return text;
}

std::optional<GivenPlacement> parse_placement(std::string_view text) {
  constexpr std::size_t kMostNodes = 10'000'000;
  GivenPlacement out;
  while (!text.empty()) {
    const std::string_view run = text.substr(0, text.find(", "));
    text.remove_prefix(std::min(text.size(), run.size() + 2));
    std::size_t count = 0;
    const auto [end, failure] = std::from_chars(run.data(), run.data() + run.size(), count);
    const auto digits = static_cast<std::size_t>(end - run.data());
    if (failure != std::errc() || digits + 1 >= run.size() || run[digits] != ' ') return {};
    if (count > kMostNodes - out.by_node.size()) return {};
    const std::string_view name = run.substr(digits + 1);
    auto known = std::find(out.back_ends.begin(), out.back_ends.end(), name);
    if (name != kNative && known == out.back_ends.end()) {
      out.back_ends.emplace_back(name);
      known = out.back_ends.end() - 1;
    }
    const auto number = static_cast<std::int16_t>(known - out.back_ends.begin());
    out.by_node.insert(out.by_node.end(), count, name == kNative ? kNobody : number);
  }
  return out;
}

SplitChoices split_choices(std::span<const byoc::BackendChoice> choices) {
  SplitChoices out;
  for (const byoc::BackendChoice& choice : choices) {
    (is_runtime_operators(*choice.backend) ? out.rest = choice
                                           : out.back_ends.emplace_back(choice));
  }
  TESSERA_CHECK(out.rest.backend != nullptr, "operators of the runtime have no back end");
  return out;
}

std::optional<byoc::Assignment> GivenPlacer::assignment_of(const relay::Function& main,
                                                           const SplitChoices& choices) const {
  if (main.num_nodes() != placement_.by_node.size() || main.num_regions() > 1) return std::nullopt;
  std::vector<const byoc::Backend*> by_number;
  for (const std::string& name : placement_.back_ends) {
    const byoc::BackendChoice* choice = find_choice(name, choices.back_ends);
    by_number.push_back(choice == nullptr ? nullptr : choice->backend);
  }
  byoc::Assignment out;
  out.of_rest = choices.rest.backend;
  for (const std::int16_t who : placement_.by_node) {
    out.by_node.push_back(who == kNobody ? nullptr : by_number[static_cast<std::size_t>(who)]);
  }
  return out;
}

Result<byoc::PartitionOutcome> GivenPlacer::place(Module module,
                                                  std::span<const byoc::BackendChoice> choices) {
  const SplitChoices split = split_choices(choices);
  byoc::PartitionOutcome outcome;
  outcome.module = std::move(module);
  for (const std::string& name : byoc::functions_to_partition(outcome.module)) {
    const auto assignment =
        name == "main" ? assignment_of(outcome.module.functions.at(name), split) : std::nullopt;
    byoc::partition_function(name, choices, outcome, assignment ? &*assignment : nullptr);
  }
  return outcome;
}

}  // namespace tessera::driver
