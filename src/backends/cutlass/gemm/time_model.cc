// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/gemm/time_model.h"

#include <algorithm>

#include "backends/cutlass/gemm/multistage_tiles.h"

namespace tessera::backends::cutlass {
namespace {

constexpr std::int64_t kUsualRows = 4096;  // where their number is not known

double ceil_div(double x, double y) {
  return static_cast<double>(static_cast<std::int64_t>((x + y - 1) / y));
}

// In a strided transposed convolution: places that the same elements of the window reach, which
// have tiles of their own.
struct Classes {
  double count = 1, rows = 0, most_elements = 1;  // of the largest; of the window
};
Classes classes_of(const Gemm& gemm) {
  const auto batch = static_cast<double>(gemm.m.as_constant().value_or(kUsualRows)) /
                     static_cast<double>(gemm.convolution->height * gemm.convolution->width);
  Classes all{1, batch, 1};
  const std::int64_t sizes[] = {gemm.convolution->height, gemm.convolution->width};
  for (std::size_t i = 0; i < 2; ++i) {
    const ops::WindowAxis& axis = gemm.convolution->window[i];
    const auto stride = static_cast<double>(axis.stride);
    all.count *= stride;
    all.rows *= ceil_div(static_cast<double>(sizes[i]), stride);
    all.most_elements *= ceil_div(static_cast<double>(axis.size), stride);
  }
  return all;
}

bool is_strided(const Gemm& gemm) { return gemm.convolution && gemm.convolution->is_strided(); }

// What a tile multiplies along K: of a convolution, each place of the window has steps of its own,
// but where its channels are few. In a strided one classes have some of the elements each, in one
// wave the largest takes the longest.
double depth_of(const Gemm& gemm, const Configuration& c, double waves) {
  const auto k = static_cast<double>(gemm.k.constant());
  const bool crosses_places = c.schedule == Schedule::kMultistage && gemm.has_few_channels();
  if (!gemm.convolution || crosses_places || gemm.is(ConvolutionKind::kWeightGradient)) return k;
  const auto channels = static_cast<double>(gemm.run_along_k().constant());
  double elements = k / channels;
  if (is_strided(gemm)) {
    const Classes classes = classes_of(gemm);
    elements = waves > 1 ? elements / classes.count : classes.most_elements;
  }
  return elements * ceil_div(channels, c.tile_k) * c.tile_k;
}

// The constants are fitted to measurements on an H200 (bench/results): what a multiprocessor
// multiplies in a microsecond, what a launch and a wave of tiles cost at least, and that narrow
// tiles read more shared memory for each product. Those of sums that are split, and of the
// multistage schedule but for its launch, are guesses.
constexpr double kProductsPerMicrosecond = 3.4e6, kWave = 0.6, kLaunch = 2.5;
constexpr double kMultistageShare = 0.7;  // what mma.sync can do of the rate
constexpr double kAddsPerMicrosecond = 7000;

// What reading takes in times of what multiplying does. Warps of the multistage schedule read
// what they multiply into registers, too, each for itself.
double reading_of(const Configuration& c) {
  constexpr double kRowsReadPerProduct = 16;
  const double of_tile = kRowsReadPerProduct * (1.0 / c.tile_m + 1.0 / c.tile_n);
  if (c.schedule != Schedule::kMultistage) return of_tile;
  return of_tile / 2 + kRowsReadPerProduct / 4 * (1.0 / c.warp_m + 1.0 / c.warp_n);
}

// Products in a microsecond.
double rate_of(const Gemm& gemm, const Configuration& c) {
  const double m = static_cast<double>(gemm.m.as_constant().value_or(kUsualRows));
  const double reading = reading_of(c);
  // tf32 has half the rate, integers of eight bits twice, and three products take thrice the time.
  const auto bytes = static_cast<double>(gemm.a_dtype.size_bytes());
  const double width = bytes / 2 * (gemm.emulates_float32 ? 3 : 1);
  double rate = kProductsPerMicrosecond / width / (1 + reading);
  if (c.schedule == Schedule::kMultistage) {
    constexpr double kSpillsFrom = 320;
    rate *= kMultistageShare * std::min(1.0, kSpillsFrom / registers_of_thread(gemm, c));
  }
  for (double align = c.align; align > 0 && align * bytes < 16; align *= 2) rate *= 0.9;
  if (c.schedule == Schedule::kCooperative || c.schedule == Schedule::kStreamK) {
    rate *= 0.8;  // nothing hides the epilogue
  }
  // Weights of a few bits are decoded for each tile of rows anew, partly while others multiply.
  constexpr double kRowsThatDecodingTakes = 24;
  if (gemm.mixed) rate /= 1 + kRowsThatDecodingTakes / c.tile_m;
  if (c.schedule == Schedule::kImplicit) rate *= blocks_per_multiprocessor(c) > 1 ? 0.9 : 0.75;
  // Tiles above each other in a cluster read the weights once. That pays where they come from
  // memory (few rows) and where there are waves enough for a pair to find its place.
  // What a window sees is gathered by each for itself, and a pair has to wait for both.
  const bool pairs_pay = m <= 128 || m >= 2048;
  if (c.cluster_m > 1) rate *= c.schedule == Schedule::kImplicit ? 0.92 : pairs_pay ? 1.01 : 0.98;
  if (c.cluster_n > 1) rate *= 0.995;
  return rate;
}

// Locks are cleared first by a launch of its own, a block takes eight steps at least unless the
// number of parts is given, and those that share a tile add their sums one after the other.
double stream_k_microseconds(const Gemm& gemm, const Configuration& c, const Device& device,
                             double of_step) {
  constexpr double kClear = 7, kLeastSteps = 8;
  const double tiles = tiles_of(gemm, c);
  const double steps = static_cast<double>(gemm.k.constant()) / c.tile_k;
  const double blocks =
      c.splits > 1 ? tiles * c.splits
                   : std::min<double>(device.multiprocessors, ceil_div(tiles * steps, kLeastSteps));
  const double adding = c.tile_m * c.tile_n / kAddsPerMicrosecond * blocks / tiles;
  return kLaunch + kClear + kWave + adding + tiles * of_step * steps / blocks;
}

// What a step takes of `blocks` on a multiprocessor together. It multiplies as fast as its warps
// hide each other's waiting, and no faster than what it reads arrives: stages but one are on their
// way.
double multistage_step(const Configuration& c, double blocks, double of_step) {
  constexpr double kLatency = 0.7, kIdleWarps = 1.2, kBarrier = 0.005;
  const double warps = blocks * warps_of_block(c);
  const double multiplying = blocks * of_step * (warps + kIdleWarps) / warps;
  return std::max(multiplying, kLatency / std::max(c.stages - 1, 1)) + kBarrier;
}

// With sums in parts, what blocks count by is cleared first, each leaves its sums in memory, and
// the last one of a tile adds those of all.
double split_sums_microseconds(const Configuration& c, double blocks) {
  constexpr double kClear = 4, kBytesPerMicrosecond = 3e6, kSumBytes = 4;
  if (c.splits == 1) return 0;
  const double sums = c.tile_m * c.tile_n;
  const double moving = 2 * blocks * sums * kSumBytes / kBytesPerMicrosecond;
  return kClear + moving + sums / kAddsPerMicrosecond * (c.splits + 1);
}

// The busiest multiprocessor has its blocks in turns of as many as fit there at a time; one stores
// while others multiply.
double multistage_microseconds(const Gemm& gemm, const Configuration& c, const Device& device) {
  const double blocks = tiles_of(gemm, c) * c.splits;
  const double own = ceil_div(blocks, device.multiprocessors);
  const double fit = std::min<double>(own, resident_blocks(gemm, c, device));
  const double turns = std::max(0.0, ceil_div(own, fit) - 1), left = own - turns * fit;
  const double depth = depth_of(gemm, c, waves_of(gemm, c, device));
  const double steps = ceil_div(depth, static_cast<double>(c.tile_k) * c.splits);
  const double of_step = c.tile_m * c.tile_n * c.tile_k / rate_of(gemm, c);
  const double of_turns = turns * multistage_step(c, fit, of_step);
  return kLaunch + kWave * (1 + turns / fit) +
         steps * (of_turns + multistage_step(c, left, of_step)) +
         split_sums_microseconds(c, blocks);
}

}  // namespace

double tiles_of(const Gemm& gemm, const Configuration& c) {
  const double across = ceil_div(static_cast<double>(gemm.n.constant()), c.tile_n);
  if (is_strided(gemm)) {
    const Classes classes = classes_of(gemm);
    return classes.count * ceil_div(classes.rows, c.tile_m) * across;
  }
  const auto m = static_cast<double>(gemm.m.as_constant().value_or(kUsualRows));
  const auto batch = static_cast<double>(gemm.batch.as_constant().value_or(1));
  return ceil_div(m, c.tile_m) * across * batch;
}

double waves_of(const Gemm& gemm, const Configuration& c, const Device& device) {
  return ceil_div(tiles_of(gemm, c), device.multiprocessors);
}

double estimated_microseconds(const Gemm& gemm, const Configuration& c, const Device& device) {
  if (c.schedule == Schedule::kMultistage) return multistage_microseconds(gemm, c, device);
  const double waves = waves_of(gemm, c, device), k = depth_of(gemm, c, waves);
  const double of_step = c.tile_m * c.tile_n * c.tile_k / rate_of(gemm, c), steps = k / c.tile_k;
  if (c.schedule == Schedule::kStreamK) return stream_k_microseconds(gemm, c, device, of_step);
  return kLaunch + waves * (kWave + of_step * steps) + 0.005 * waves * steps;
}

}  // namespace tessera::backends::cutlass
