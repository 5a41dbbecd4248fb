// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/configuration.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace tessera::backends::cutlass {
namespace {

constexpr const char* kScheduleNames[] = {"pingpong", "cooperative", "streamk", "implicit"};
constexpr const char* kRasterNames[] = {"auto", "m", "n"};

struct TileShape {
  int m, n, k;
};
// On sm90. Widths of 96 and 192 divide what 64 and 128 leave over: 3072 / 192 = 16 tiles.
constexpr TileShape kPingpongTiles[] = {{64, 32, 128}, {64, 64, 64},   {64, 64, 128},
                                        {64, 96, 64},  {64, 128, 64},  {64, 192, 64},
                                        {128, 96, 64}, {128, 128, 64}, {128, 192, 64}};
constexpr TileShape kCooperativeTiles[] = {
    {128, 128, 64}, {128, 192, 64}, {128, 256, 64}, {256, 128, 64}};
constexpr TileShape kStreamKTiles[] = {{128, 64, 64}, {128, 128, 64}};
// A block has one tile.
constexpr TileShape kImplicitTiles[] = {{64, 64, 64},  {64, 128, 64},  {128, 64, 64},
                                        {128, 96, 64}, {128, 128, 64}, {128, 192, 64}};
struct MultistageShape {
  int m, n, k, warp_m, warp_n, stages;
};
constexpr MultistageShape kMultistageTiles[] = {
    {128, 128, 32, 64, 64, 4}, {128, 64, 32, 64, 32, 4}, {64, 64, 32, 32, 32, 5}};
// For float32 by three products of tf32: each operand is there twice, so that registers are short.
constexpr MultistageShape kEmulatingTiles[] = {
    {128, 128, 16, 32, 64, 4}, {128, 64, 16, 64, 32, 4}, {64, 64, 16, 32, 32, 3}};

constexpr std::int64_t kUsualRows = 4096;  // where their number is not known

double ceil_div(double x, double y) {
  return static_cast<double>(static_cast<std::int64_t>((x + y - 1) / y));
}

double tiles_of(const Gemm& gemm, const Configuration& c) {
  const auto m = static_cast<double>(gemm.m.as_constant().value_or(kUsualRows));
  const auto n = static_cast<double>(gemm.n.constant());
  const auto batch = static_cast<double>(gemm.batch.as_constant().value_or(1));
  return ceil_div(m, c.tile_m) * ceil_div(n, c.tile_n) * batch;
}

double waves_of(const Gemm& gemm, const Configuration& c, const Device& device) {
  return ceil_div(tiles_of(gemm, c), device.multiprocessors);
}

// What a tile multiplies along K: of a convolution, each place of the window has steps of its own,
// but where its channels are few.
double depth_of(const Gemm& gemm, const Configuration& c) {
  const auto k = static_cast<double>(gemm.k.constant());
  const bool crosses_places = c.schedule == Schedule::kMultistage && gemm.has_few_channels();
  if (!gemm.convolution || crosses_places) return k;
  const auto channels = static_cast<double>(gemm.convolution->channels);
  return k / channels * ceil_div(channels, c.tile_k) * c.tile_k;
}

// Of a block, as CUDA's documentation has it.
std::int64_t shared_bytes_of(const Target& target) {
  const std::string arch = architecture(target);
  return (arch == "sm_80" || arch == "sm_87" ? 163 : arch.starts_with("sm_8") ? 99 : 227) << 10;
}

bool fits(const Gemm& gemm, const Configuration& c, const Target& target, const Device& device) {
  if (c.schedule == Schedule::kMultistage) {
    if (gemm.batch.as_constant().value_or(1) > kMostMatricesOfGrid) return false;
    return std::int64_t{c.tile_m + c.tile_n} * c.tile_k * c.stages * gemm.a_dtype.size_bytes() <=
           shared_bytes_of(target);
  }
  if (c.schedule == Schedule::kStreamK &&
      (!gemm.m.is_constant() || !gemm.batch.is_constant() || waves_of(gemm, c, device) > 1)) {
    return false;
  }
  // A cluster's tiles along M and N must be there.
  const std::int64_t m = gemm.m.as_constant().value_or(1 << 20);
  return (m + c.tile_m - 1) / c.tile_m % c.cluster_m == 0 &&
         (gemm.n.constant() + c.tile_n - 1) / c.tile_n % c.cluster_n == 0;
}

// Hopper's instructions read tf32 along K only, and know no emulation of float32.
bool suits_tma(const Gemm& gemm) {
  if (gemm.a_dtype == kFloat32 &&
      (gemm.emulates_float32 || gemm.a_is_column_major || gemm.b_is_row_major)) {
    return false;
  }
  if (gemm.convolution && !suits_im2col(*gemm.convolution)) return false;
  const auto is_wide = [](std::int64_t elements, DType dtype) {
    return elements * dtype.size_bytes() == 16;
  };
  const auto has_wide_rows = [&](const EpilogueInput& input) {
    const bool is_along_n = input.kind != InputKind::kColumn && input.kind != InputKind::kScalar;
    return !is_along_n || gemm.n.constant() * input.dtype.size_bytes() % 16 == 0;
  };
  const auto& inputs = gemm.epilogue.inputs;
  return is_wide(gemm.a_align, gemm.a_dtype) && is_wide(gemm.b_align, gemm.b_dtype) &&
         is_wide(gemm.d_align, gemm.epilogue.dtype) &&
         std::all_of(inputs.begin(), inputs.end(), has_wide_rows);
}

// Do the last channels of eight bits fill at most half of a step as long as those of 16 bits?
bool fills_half_a_step(const Gemm& gemm, const TileShape& t) {
  const std::int64_t step = std::int64_t{2} * t.k, left = gemm.convolution->channels % step;
  return gemm.a_dtype.is_byte() && left > 0 && left <= step / 2;
}

// CUTLASS 4.2 cannot for stream-K, nor for kernels of its second version.
bool can_start_early(Schedule schedule) {
  return schedule == Schedule::kPingpong || schedule == Schedule::kCooperative;
}

// Launching early hides the start of a kernel. Narrow tiles on many rows lose by it where there is
// more than a wave of them: their early blocks take multiprocessors from the kernel before.
bool starts_early(const Gemm& gemm, const Configuration& c, const Device& device) {
  return can_start_early(c.schedule) &&
         (c.tile_m > 64 || gemm.m.as_constant().value_or(1 << 20) <= 1024 ||
          waves_of(gemm, c, device) <= 1);
}

}  // namespace

// The constants are fitted to measurements on an H200 (bench/results): what a multiprocessor
// multiplies in a microsecond, what a launch and a wave of tiles cost at least, and that narrow
// tiles read more shared memory for each product.
double estimated_microseconds(const Gemm& gemm, const Configuration& c, const Device& device) {
  constexpr double kProductsPerMicrosecond = 3.4e6, kWave = 0.6, kLaunch = 2.5;
  constexpr double kRowsReadPerProduct = 16;
  const double m = static_cast<double>(gemm.m.as_constant().value_or(kUsualRows));
  const double k = depth_of(gemm, c);
  const double waves = waves_of(gemm, c, device);
  const double reading = kRowsReadPerProduct * (1.0 / c.tile_m + 1.0 / c.tile_n);
  // tf32 has half the rate, integers of eight bits twice, and three products take thrice the time.
  const auto bytes = static_cast<double>(gemm.a_dtype.size_bytes());
  const double width = bytes / 2 * (gemm.emulates_float32 ? 3 : 1);
  double rate = kProductsPerMicrosecond / width / (1 + reading);
  if (c.schedule == Schedule::kMultistage) rate *= 0.6;
  for (double align = c.align; align > 0 && align * bytes < 16; align *= 2) rate *= 0.9;
  if (c.schedule == Schedule::kCooperative || c.schedule == Schedule::kStreamK) {
    rate *= 0.8;  // nothing hides the epilogue
  }
  if (c.schedule == Schedule::kImplicit) rate *= blocks_per_multiprocessor(c) > 1 ? 0.9 : 0.75;
  // Tiles above each other in a cluster read the weights once. That pays where they come from
  // memory (few rows) and where there are waves enough for a pair to find its place.
  // What a window sees is gathered by each for itself, and a pair has to wait for both.
  const bool pairs_pay = m <= 128 || m >= 2048;
  if (c.cluster_m > 1) rate *= c.schedule == Schedule::kImplicit ? 0.92 : pairs_pay ? 1.01 : 0.98;
  if (c.cluster_n > 1) rate *= 0.995;
  const double steps = k / c.tile_k;
  if (c.schedule == Schedule::kStreamK) {
    // Locks are cleared first by a launch of its own, a block takes eight steps at least unless the
    // number of parts is given, and those that share a tile add their sums one after the other.
    constexpr double kClear = 7, kLeastSteps = 8, kAddsPerMicrosecond = 7000;
    const double tiles = tiles_of(gemm, c);
    const double blocks = c.splits > 1 ? tiles * c.splits
                                       : std::min<double>(device.multiprocessors,
                                                          ceil_div(tiles * steps, kLeastSteps));
    const double adding = c.tile_m * c.tile_n / kAddsPerMicrosecond * blocks / tiles;
    return kLaunch + kClear + kWave + adding + tiles * c.tile_m * c.tile_n * k / (rate * blocks);
  }
  return kLaunch + waves * (kWave + c.tile_m * c.tile_n * k / rate) + 0.005 * waves * steps;
}

std::string architecture(const Target& target) {
  const std::string& arch = target.get_string("arch");
  return arch == "auto" ? "sm_90a" : arch;
}

bool has_kernels(const Target& target) {
  return std::atoi(architecture(target).c_str() + std::strlen("sm_")) >= 80;
}

Device device_of(const Target& target) {
  if (const std::int64_t given = target.get_int("multiprocessors"); given > 0) {
    return {static_cast<int>(given)};
  }
  struct Usual {
    const char* arch;
    int multiprocessors;
  };
  // A100, A10, Jetson Orin, L40S; H100 and H200 as modules.
  constexpr Usual kUsual[] = {{"sm_80", 108}, {"sm_86", 72}, {"sm_87", 16}, {"sm_89", 142}};
  const std::string arch = architecture(target);
  for (const Usual& usual : kUsual) {
    if (arch == usual.arch) return {usual.multiprocessors};
  }
  return {};
}

bool has_tma(const Target& target) { return architecture(target) == "sm_90a"; }

int blocks_per_multiprocessor(const Configuration& c) {
  constexpr int kThreads = 128, kSums = 64;  // a thread's sums are registers
  return c.schedule == Schedule::kImplicit && c.tile_m * c.tile_n <= kThreads * kSums ? 2 : 1;
}

std::int64_t workspace_bytes(const Gemm& gemm, const Configuration& c) {
  if (c.schedule != Schedule::kStreamK) return 0;
  constexpr std::int64_t kSumBytes = 4, kLockBytes = 4, kGroups = 2, kLine = 128;
  const auto tiles = [&](std::int64_t size, int tile, int cluster) {
    const std::int64_t across = std::int64_t{cluster} * c.swizzle, band = across * tile;
    return (size + band - 1) / band * across;
  };
  const std::int64_t count = tiles(gemm.m.constant(), c.tile_m, c.cluster_m) *
                             tiles(gemm.n.constant(), c.tile_n, c.cluster_n) *
                             gemm.batch.constant();
  return count * (kSumBytes * c.tile_m * c.tile_n + kGroups * kLockBytes) + 2 * kLine;
}

std::string Configuration::kernel_name() const {
  if (schedule == Schedule::kMultistage) {
    return fmt::format("sm80_{}x{}x{}_w{}x{}_s{}{}", tile_m, tile_n, tile_k, warp_m, warp_n, stages,
                       align == 0 ? "" : fmt::format("_a{}", align));
  }
  return fmt::format("sm90_{}x{}x{}_c{}x{}_{}", tile_m, tile_n, tile_k, cluster_m, cluster_n,
                     kScheduleNames[static_cast<int>(schedule)]);
}

std::string Configuration::text() const {
  return fmt::format("{} z{} {}{}{}", kernel_name(), swizzle,
                     kRasterNames[static_cast<int>(raster)], is_dependent ? " dependent" : "",
                     splits > 1 ? fmt::format(" split{}", splits) : "");
}

std::optional<Configuration> parse_configuration(std::string_view text) {
  const std::string copy(text);
  Configuration c;
  char schedule[16] = "", raster[8] = "", launch[16] = "";
  if (std::sscanf(copy.c_str(), "sm90_%dx%dx%d_c%dx%d_%15[a-z] z%d %7s %15s", &c.tile_m, &c.tile_n,
                  &c.tile_k, &c.cluster_m, &c.cluster_n, schedule, &c.swizzle, raster,
                  launch) >= 8) {
    for (const Schedule s : {Schedule::kCooperative, Schedule::kStreamK, Schedule::kImplicit}) {
      if (schedule == std::string_view(kScheduleNames[static_cast<int>(s)])) c.schedule = s;
    }
  } else if (std::sscanf(copy.c_str(), "sm80_%dx%dx%d_w%dx%d_s%d z%d %7s %15s", &c.tile_m,
                         &c.tile_n, &c.tile_k, &c.warp_m, &c.warp_n, &c.stages, &c.swizzle, raster,
                         launch) >= 8 ||
             std::sscanf(copy.c_str(), "sm80_%dx%dx%d_w%dx%d_s%d_a%d z%d %7s %15s", &c.tile_m,
                         &c.tile_n, &c.tile_k, &c.warp_m, &c.warp_n, &c.stages, &c.align,
                         &c.swizzle, raster, launch) >= 9) {
    c.schedule = Schedule::kMultistage;
  }
  for (const Raster r : {Raster::kAlongM, Raster::kAlongN}) {
    if (raster == std::string_view(kRasterNames[static_cast<int>(r)])) c.raster = r;
  }
  c.is_dependent = launch == std::string_view("dependent");
  std::sscanf(launch, "split%d", &c.splits);
  return c.text() == text ? std::optional(c) : std::nullopt;
}

int raster_along_m(const Configuration& c) {
  static constexpr int kAlongM[] = {-1, 1, 0};  // by Raster
  return kAlongM[static_cast<int>(c.raster)];
}

std::vector<Configuration> candidates(const Gemm& gemm, const Target& target,
                                      const Device& device) {
  std::vector<Configuration> all;
  const auto clusters = target.get_ints("cluster_shapes");
  const std::string& raster = target.get_string("raster");
  const auto add = [&](Configuration c) {
    c.raster = raster == "m" ? Raster::kAlongM : raster == "n" ? Raster::kAlongN : Raster::kAuto;
    c.swizzle = static_cast<int>(target.get_int("swizzle"));
    c.is_dependent = starts_early(gemm, c, device);
    if (fits(gemm, c, target, device)) all.push_back(c);
  };
  const int element_bytes = static_cast<int>(gemm.a_dtype.size_bytes());
  const auto add_sm90 = [&](Schedule schedule, const TileShape& t) {
    const int k = t.k * 2 / element_bytes;  // the same bytes
    for (std::size_t i = 0; i + 1 < clusters.size(); i += 2) {
      add({schedule, t.m, t.n, k, static_cast<int>(clusters[i]),
           static_cast<int>(clusters[i + 1])});
    }
  };
  const int largest = static_cast<int>(std::min(gemm.a_align, gemm.b_align));
  const auto add_sm80 = [&](int align) {
    if (gemm.convolution && !suits_iterators(*gemm.convolution)) return;
    // cp.async copies four bytes at least; below, tiles go through registers in two stages.
    const bool is_narrow = (align == 0 ? largest : align) * element_bytes < 4;
    for (const MultistageShape& t : gemm.emulates_float32 ? kEmulatingTiles : kMultistageTiles) {
      const int k = element_bytes == 1 ? t.k * 2 : t.k;
      add({Schedule::kMultistage, t.m, t.n, k, 1, 1, t.warp_m, t.warp_n, is_narrow ? 2 : t.stages,
           align});
    }
  };
  const bool by_tma = has_tma(target) && suits_tma(gemm);
  if (gemm.convolution) {
    if (by_tma) {
      for (const TileShape& t : kImplicitTiles) {
        add_sm90(Schedule::kImplicit, t);
        if (fills_half_a_step(gemm, t)) add_sm90(Schedule::kImplicit, {t.m, t.n, t.k / 2});
      }
    }
    const bool is_better = !by_tma || gemm.has_few_channels();
    if (is_better) add_sm80(0);
  } else if (by_tma) {
    for (const TileShape& t : kPingpongTiles) add_sm90(Schedule::kPingpong, t);
    for (const TileShape& t : kCooperativeTiles) add_sm90(Schedule::kCooperative, t);
    for (const TileShape& t : kStreamKTiles) add_sm90(Schedule::kStreamK, t);
  } else {
    add_sm80(0);
  }
  if (target.get_bool("profile_all_alignments")) {
    const int least = element_bytes == 1 ? 4 : 1;  // what the kernels for integers can copy
    for (int align = by_tma ? largest : largest / 2; align >= least; align /= 2) {
      add_sm80(align);
    }
  }
  std::stable_sort(all.begin(), all.end(), [&](const Configuration& x, const Configuration& y) {
    return estimated_microseconds(gemm, x, device) < estimated_microseconds(gemm, y, device);
  });
  return all;
}

bool leaves_bands_open(const Configuration& candidate) {
  return candidate.raster == Raster::kAuto && candidate.swizzle == 1;
}

std::vector<Configuration> launches(const Gemm& gemm, const Configuration& candidate,
                                    const Target& target) {
  std::vector<Configuration> all = {candidate};
  const Device device = device_of(target);
  if (candidate.schedule == Schedule::kStreamK) {
    for (const std::int64_t splits : target.get_ints("split_k_slices")) {
      if (splits < 2 || splits * candidate.tile_k > gemm.k.constant()) continue;
      all.push_back(candidate);
      all.back().splits = static_cast<int>(splits);
    }
    return all;
  }
  const bool has_bands =
      candidate.schedule != Schedule::kImplicit && waves_of(gemm, candidate, device) > 1;
  if (has_bands && leaves_bands_open(candidate)) {
    for (const Raster raster : {Raster::kAlongM, Raster::kAlongN}) {
      for (const int swizzle : {1, 2, 4, 8}) {
        all.push_back(candidate);
        all.back().raster = raster;
        all.back().swizzle = swizzle;
      }
    }
  }
  if (!can_start_early(candidate.schedule)) return all;
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    all.push_back(all[i]);
    all.back().is_dependent = !all[i].is_dependent;
  }
  return all;
}

}  // namespace tessera::backends::cutlass
