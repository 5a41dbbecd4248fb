// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/gemm/multistage_tiles.h"

#include <algorithm>
#include <span>

namespace tessera::backends::cutlass {
namespace {

constexpr int kLanes = 32;             // threads of a warp
constexpr int kStagesOfRegisters = 2;  // of tiles that cp.async cannot copy

struct Shape {
  int m, n;        // of the tile
  int bytes_of_k;  // of A's row and of B's
  int stages;
  int warps_m, warps_n;
};

// The more stages, the more bytes are on their way; the fewer, the more blocks share a
// multiprocessor. Steps of 128 bytes are half as many as those of 64.
constexpr Shape kShapes[] = {
    {256, 128, 64, 3, 4, 2},  {128, 256, 64, 3, 2, 4},  {256, 64, 64, 4, 4, 1},
    {64, 256, 64, 4, 1, 4},   {128, 128, 64, 3, 2, 2},  {128, 128, 64, 4, 2, 2},
    {128, 128, 64, 5, 2, 2},  {128, 64, 64, 4, 2, 2},   {128, 64, 64, 6, 2, 2},
    {64, 128, 64, 6, 2, 2},   {64, 64, 64, 5, 2, 2},    {64, 64, 64, 10, 2, 2},
    {256, 128, 128, 3, 4, 2}, {128, 256, 128, 3, 2, 4}, {256, 64, 128, 4, 4, 1},
    {64, 256, 128, 4, 1, 4},  {128, 128, 128, 4, 2, 2}, {128, 64, 128, 3, 2, 2},
    {64, 128, 128, 3, 2, 2},  {64, 64, 128, 5, 2, 2}};
// For float32 by three products of tf32: each operand is there twice, so that registers are short
// and a warp has 64 sums a thread at most.
constexpr Shape kEmulatingShapes[] = {
    {128, 128, 64, 4, 4, 2}, {128, 128, 64, 3, 4, 2},  {256, 64, 64, 3, 4, 2},
    {64, 256, 64, 3, 2, 4},  {128, 64, 64, 4, 2, 2},   {64, 128, 64, 4, 2, 2},
    {64, 64, 64, 3, 2, 2},   {128, 128, 128, 3, 4, 2}, {256, 64, 128, 3, 4, 2},
    {64, 256, 128, 3, 2, 4}, {128, 64, 128, 3, 2, 2},  {64, 128, 128, 3, 2, 2},
    {64, 64, 128, 3, 2, 2}};

int threads_of_block(const Configuration& c) { return kLanes * warps_of_block(c); }

// The most pieces of a thread's part of a tile. CUTLASS 4.2 has room for a bit of each of so many
// for a product; a convolution by more of them has no registers left, and takes a minute to
// compile.
bool has_too_many_copies(const Gemm& gemm, const Configuration& c) {
  constexpr int kMost = 64;
  const auto copies = [&](int rows, std::int64_t align) {
    const std::int64_t elements = c.align == 0 ? align : std::min<std::int64_t>(align, c.align);
    return rows * c.tile_k / (threads_of_block(c) * elements);
  };
  return copies(c.tile_m, gemm.a_align) > kMost || copies(c.tile_n, gemm.b_align) > kMost;
}

}  // namespace

std::vector<Configuration> multistage_kernels(const Gemm& gemm, int align) {
  const auto element_bytes = static_cast<int>(gemm.a_dtype.size_bytes());
  // cp.async copies four bytes at least; below, tiles go through registers.
  const std::int64_t elements = align == 0 ? std::min(gemm.a_align, gemm.b_align) : align;
  const bool is_narrow = elements * element_bytes < 4;
  std::vector<Configuration> all;
  const auto shapes =
      gemm.emulates_float32 ? std::span<const Shape>(kEmulatingShapes) : std::span(kShapes);
  for (const Shape& s : shapes) {
    const Configuration c{.schedule = Schedule::kMultistage,
                          .tile_m = s.m,
                          .tile_n = s.n,
                          .tile_k = s.bytes_of_k / element_bytes,
                          .warp_m = s.m / s.warps_m,
                          .warp_n = s.n / s.warps_n,
                          .stages = is_narrow ? kStagesOfRegisters : s.stages,
                          .align = align};
    const bool is_known = std::find(all.begin(), all.end(), c) != all.end();
    if (!is_known && !has_too_many_copies(gemm, c)) all.push_back(c);
  }
  return all;
}

int registers_of_thread(const Gemm& gemm, const Configuration& c) {
  const int threads = threads_of_block(c), sums = c.tile_m * c.tile_n / threads;
  const int of_multiplying = 64 + (gemm.emulates_float32 ? sums * 3 : sums * 7 / 5);
  if (c.stages != kStagesOfRegisters) return of_multiplying;
  const int on_their_way = (c.tile_m + c.tile_n) * c.tile_k / threads;
  return of_multiplying + (gemm.convolution ? 2 * on_their_way : on_their_way);
}

int warps_of_block(const Configuration& c) { return c.tile_m / c.warp_m * (c.tile_n / c.warp_n); }

std::int64_t shared_bytes_of_block(const Gemm& gemm, const Configuration& c) {
  constexpr std::int64_t kOfSplits = 16;  // who comes last, by kernels that split sums
  return std::int64_t{c.tile_m + c.tile_n} * c.tile_k * c.stages * gemm.a_dtype.size_bytes() +
         kOfSplits;
}

int resident_blocks(const Gemm& gemm, const Configuration& c, const Device& device) {
  constexpr std::int64_t kRegisters = 65536, kMost = 255, kGranule = 8;
  const int threads = threads_of_block(c);
  const std::int64_t used = std::min<std::int64_t>(registers_of_thread(gemm, c), kMost);
  const std::int64_t registers = (used + kGranule - 1) / kGranule * kGranule;
  const std::int64_t blocks =
      std::min({std::int64_t{device.threads / threads}, kRegisters / (registers * threads),
                device.shared_bytes / (shared_bytes_of_block(gemm, c) + kSystemBytesOfBlock)});
  return static_cast<int>(std::max<std::int64_t>(blocks, 1));
}

}  // namespace tessera::backends::cutlass
