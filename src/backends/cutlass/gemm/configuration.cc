// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/gemm/configuration.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "backends/cutlass/gemm/multistage_tiles.h"
#include "backends/cutlass/gemm/splits.h"
#include "backends/cutlass/gemm/time_model.h"
#include "types/gpu_arch.h"

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

// By weights of a few bits. The kernel's product is transposed: a warpgroup has 64 columns at a
// time. Wide tiles of rows decode each weight fewer times.
constexpr TileShape kMixedPingpongTiles[] = {{16, 64, 64},  {32, 64, 64},  {64, 64, 64},
                                             {128, 64, 64}, {64, 128, 64}, {128, 128, 64}};
constexpr TileShape kMixedCooperativeTiles[] = {{16, 128, 64},  {32, 128, 64},  {64, 128, 64},
                                                {128, 128, 64}, {256, 128, 64}, {128, 256, 64}};

bool fits(const Gemm& gemm, const Configuration& c, const Target& target, const Device& device) {
  if (c.schedule == Schedule::kMultistage) {
    if (gemm.batch.as_constant().value_or(1) > kMostMatricesOfGrid) return false;
    return shared_bytes_of_block(gemm, c) <= shared_bytes_of(target);
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
  const bool has_wide_b = gemm.mixed || is_wide(gemm.b_align, gemm.b_dtype);
  return is_wide(gemm.a_align, gemm.a_dtype) && has_wide_b &&
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

std::string architecture(const Target& target) {
  const std::string& arch = target.get_string("arch");
  return arch == "auto" ? "sm_90a" : arch;
}

bool has_kernels(const Target& target) {
  return std::atoi(architecture(target).c_str() + std::strlen("sm_")) >= 80;
}

Device device_of(const Target& target) {
  // Of multiprocessors, what CUDA's documentation says.
  constexpr std::int64_t kLarge = 164 << 10, kSmall = 100 << 10;
  const std::string arch = architecture(target);
  Device device;
  device.multiprocessors = usual_multiprocessors(arch);
  if (arch.starts_with("sm_8")) {
    device.shared_bytes = arch == "sm_80" || arch == "sm_87" ? kLarge : kSmall;
    device.threads = arch == "sm_80" ? 2048 : 1536;
  }
  if (target.get_bool("ptx")) device.shared_bytes = kSmall;  // of some later device
  const std::int64_t given = target.get_int("multiprocessors");
  if (given > 0) device.multiprocessors = static_cast<int>(given);
  return device;
}

bool has_tma(const Target& target) { return architecture(target) == "sm_90a"; }

std::int64_t shared_bytes_of(const Target& target) {
  return device_of(target).shared_bytes - kSystemBytesOfBlock;
}

int blocks_per_multiprocessor(const Configuration& c) {
  constexpr int kThreads = 128, kSums = 64;  // a thread's sums are registers
  return c.schedule == Schedule::kImplicit && c.tile_m * c.tile_n <= kThreads * kSums ? 2 : 1;
}

std::int64_t workspace_bytes(const Gemm& gemm, const Configuration& c) {
  constexpr std::int64_t kSumBytes = 4, kLockBytes = 4, kGroups = 2, kLine = 128;
  if (c.schedule == Schedule::kMultistage && c.splits > 1) {
    const auto tiles = static_cast<std::int64_t>(tiles_of(gemm, c));
    return tiles * (c.splits * kSumBytes * c.tile_m * c.tile_n + kLockBytes);
  }
  if (c.schedule != Schedule::kStreamK) return 0;
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

namespace {

// Kernels of Hopper's own instructions, in all clusters of the target.
std::vector<Configuration> tma_kernels(const Gemm& gemm, const Target& target) {
  std::vector<Configuration> all;
  const auto& clusters = target.get_ints("cluster_shapes");
  const auto add = [&](Schedule schedule, const TileShape& t) {
    const int k = t.k * 2 / static_cast<int>(gemm.a_dtype.size_bytes());  // the same bytes
    for (std::size_t i = 0; i + 1 < clusters.size(); i += 2) {
      all.push_back({schedule, t.m, t.n, k, static_cast<int>(clusters[i]),
                     static_cast<int>(clusters[i + 1])});
    }
  };
  if (gemm.mixed) {
    const std::int64_t block = gemm.mixed->block_size;
    for (const int depth : {1, 2}) {  // a step along K has one scale
      if (block != gemm.k.constant() && block % (std::int64_t{64} * depth) != 0) continue;
      for (const TileShape& t : kMixedPingpongTiles) {
        add(Schedule::kPingpong, {t.m, t.n, depth * t.k});
      }
      for (const TileShape& t : kMixedCooperativeTiles) {
        add(Schedule::kCooperative, {t.m, t.n, depth * t.k});
      }
    }
    return all;
  }
  if (gemm.convolution) {
    for (const TileShape& t : kImplicitTiles) {
      add(Schedule::kImplicit, t);
      if (fills_half_a_step(gemm, t)) add(Schedule::kImplicit, {t.m, t.n, t.k / 2});
    }
    return all;
  }
  for (const TileShape& t : kPingpongTiles) add(Schedule::kPingpong, t);
  for (const TileShape& t : kCooperativeTiles) add(Schedule::kCooperative, t);
  if (gemm.is_float8()) return all;
  for (const TileShape& t : kStreamKTiles) add(Schedule::kStreamK, t);
  return all;
}

// By as many elements of a row as the sizes allow, and with `profile_all_alignments` by fewer;
// `beside` those that TMA reads for.
std::vector<Configuration> other_kernels(const Gemm& gemm, const Target& target, bool beside) {
  std::vector<Configuration> all;
  if (gemm.is_float8() || gemm.mixed) return all;  // Hopper's instructions alone multiply them
  if (gemm.convolution && !suits_iterators(*gemm.convolution)) return all;
  const auto add = [&](int align) {
    const auto kernels = multistage_kernels(gemm, align);
    all.insert(all.end(), kernels.begin(), kernels.end());
  };
  if (!beside || gemm.has_few_channels()) add(0);
  if (!target.get_bool("profile_all_alignments")) return all;
  const int largest = static_cast<int>(std::min(gemm.a_align, gemm.b_align));
  const int least = gemm.a_dtype.is_byte() ? 4 : 1;  // what the kernels for integers can copy
  for (int align = beside ? largest : largest / 2; align >= least; align /= 2) add(align);
  return all;
}

}  // namespace

std::vector<Configuration> candidates(const Gemm& gemm, const Target& target,
                                      const Device& device) {
  std::vector<Configuration> all;
  const std::string& raster = target.get_string("raster");
  const auto add = [&](Configuration c) {
    c.raster = raster == "m" ? Raster::kAlongM : raster == "n" ? Raster::kAlongN : Raster::kAuto;
    c.swizzle = static_cast<int>(target.get_int("swizzle"));
    c.is_dependent = starts_early(gemm, c, device);
    if (can_split(gemm, c)) c = best_split(gemm, c, target, device);
    if (fits(gemm, c, target, device)) all.push_back(c);
  };
  const bool by_tma = has_tma(target) && suits_tma(gemm);
  if (by_tma) {
    for (const Configuration& c : tma_kernels(gemm, target)) add(c);
  }
  for (const Configuration& c : other_kernels(gemm, target, by_tma)) add(c);
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
  if (can_split(gemm, candidate)) {
    const auto others = other_splits(gemm, candidate, target);
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
  const bool has_bands = candidate.schedule != Schedule::kImplicit &&
                         candidate.schedule != Schedule::kMultistage &&
                         waves_of(gemm, candidate, device) > 1;
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
