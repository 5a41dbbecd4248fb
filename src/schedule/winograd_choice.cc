// SPDX-License-Identifier: Apache-2.0
#include "schedule/winograd_choice.h"

#include <algorithm>

#include <fmt/format.h>

#include "schedule/machine.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

std::string algorithm_of(std::int64_t tile) {
  return tile == 0 ? std::string(kDirect) : fmt::format("winograd_{0}x{0}", tile);
}

// What follows the convolution takes about the same time whatever computes it.
std::string workload_of(const WinogradConvolution& c) {
  std::int64_t images = 1;
  for (const Loop& l : c.batch) images *= l.size();
  const auto& data = *c.data.as<tir::Load>();
  const bool is_channels_last = tir::uses_var(data.indices.back(), c.in.var);
  return fmt::format("conv2d 3x3 {} images={} in={} out={} rows={} columns={}{}",
                     to_string(c.data.dtype()), images, c.in.size(), c.out.size(), c.row.size(),
                     c.column.size(), is_channels_last ? " channels_last" : "");
}

}  // namespace

std::optional<std::int64_t> told_winograd_tile(int told, const std::vector<std::int64_t>& tiles) {
  if (told == Machine::kClearlyFaster) return std::nullopt;
  return std::ranges::find(tiles, told) != tiles.end() ? told : 0;
}

std::int64_t measured_winograd_tile(const WinogradConvolution& c, std::int64_t rule,
                                    const std::vector<std::int64_t>& tiles,
                                    MeasuredAlgorithms* measured) {
  if (measured == nullptr) return rule;
  std::vector<std::int64_t> all = {rule};
  if (rule != 0) all.push_back(0);
  for (const std::int64_t tile : tiles) {
    if (tile != rule) all.push_back(tile);
  }
  AlgorithmChoice choice{workload_of(c), {}};
  for (const std::int64_t tile : all) choice.algorithms.push_back(algorithm_of(tile));
  const std::string chosen = measured->choose(choice);
  const auto at = std::ranges::find(choice.algorithms, chosen) - choice.algorithms.begin();
  return all[static_cast<std::size_t>(at)];
}

}  // namespace tessera::schedule
