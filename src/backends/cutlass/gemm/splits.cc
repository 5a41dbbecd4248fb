// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/gemm/splits.h"

#include <limits>

#include "backends/cutlass/gemm/time_model.h"

namespace tessera::backends::cutlass {
namespace {

// Where they are open, of four steps at least.
std::vector<int> possible_splits(const Gemm& gemm, const Configuration& c, const Target& target) {
  constexpr int kMost = 64, kLeastSteps = 4;
  std::vector<int> all;
  const auto add = [&](std::int64_t splits, std::int64_t steps) {
    const bool fits = splits > 1 && splits * steps * c.tile_k <= gemm.k.constant();
    if (splits == 1 || fits) all.push_back(static_cast<int>(splits));
  };
  if (!leaves_splits_open(target)) {
    for (const std::int64_t splits : target.get_ints("split_k_slices")) add(splits, 1);
  } else if (gemm.is(ConvolutionKind::kWeightGradient)) {
    for (int splits = 1; splits <= kMost; splits *= 2) add(splits, kLeastSteps);
  }
  if (all.empty()) all.push_back(1);
  return all;
}

}  // namespace

bool leaves_splits_open(const Target& target) {
  return target.get_ints("split_k_slices") == std::vector<std::int64_t>{1};
}

bool can_split(const Gemm& gemm, const Configuration& c) {
  constexpr int kSumBytes = 4;
  if (c.schedule != Schedule::kMultistage) return false;
  if (gemm.convolution) return gemm.is(ConvolutionKind::kWeightGradient);
  return gemm.m.is_constant() && gemm.batch == Dim(1) && gemm.sum_dtype.size_bytes() == kSumBytes;
}

Configuration best_split(const Gemm& gemm, Configuration c, const Target& target,
                         const Device& device) {
  Configuration best = c;
  double least = std::numeric_limits<double>::infinity();
  for (const int splits : possible_splits(gemm, c, target)) {
    c.splits = splits;
    const double time = estimated_microseconds(gemm, c, device);
    if (time < least) least = time, best = c;
  }
  return best;
}

std::vector<Configuration> other_splits(const Gemm& gemm, const Configuration& c,
                                        const Target& target) {
  const bool is_open = leaves_splits_open(target);
  std::vector<Configuration> others;
  for (const int splits : possible_splits(gemm, c, target)) {
    const bool is_near = splits == 1 || 2 * splits == c.splits || splits == 2 * c.splits;
    if (splits == c.splits || (is_open && !is_near)) continue;
    others.push_back(c);
    others.back().splits = splits;
  }
  return others;
}

}  // namespace tessera::backends::cutlass
