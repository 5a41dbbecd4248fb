// SPDX-License-Identifier: Apache-2.0
// How a product is cut up for the device: which kernel is compiled, and how it is launched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cutlass/gemm/gemm.h"
#include "backends/cutlass/kernels/gemm.h"

namespace tessera::backends::cutlass {

enum class Schedule : std::uint8_t {
  kPingpong,     // sm90: two groups of warps, each with a tile of its own
  kCooperative,  // sm90: two groups of warps share a tile
  kStreamK,      // sm90: so, and blocks share tiles along K: for few tiles and a long K
  kImplicit,     // sm90: one group of warps, one tile a block; A is gathered by a window
  kMultistage,   // sm80: no warp specialisation; what rows that TMA cannot take use
};

// Which way the bands of tiles go that run at the same time.
enum class Raster : std::uint8_t { kAuto, kAlongM, kAlongN };

struct Configuration {
  Schedule schedule = Schedule::kPingpong;
  int tile_m = 128, tile_n = 128, tile_k = 64;
  int cluster_m = 1, cluster_n = 1;  // sm90
  int warp_m = 64, warp_n = 64;      // sm80
  int stages = 0;                    // sm80; sm90: as many as shared memory holds
  int align = 0;  // sm80: elements that rows are read by; 0: as many as the sizes allow
  // How it is launched.
  int swizzle = 1;  // width of the bands, in tiles
  Raster raster = Raster::kAuto;
  bool is_dependent = false;  // may start while the kernel before it ends
  // Parts of each sum along K: of stream-K, where 1 is the kernel's choice, and of the multistage
  // schedule (splits.h).
  int splits = 1;

  friend bool operator==(const Configuration&, const Configuration&) = default;
  // What is compiled: "sm90_128x192x64_c2x1_pingpong", "sm80_128x64x32_w64x32_s4",
  // "sm80_64x64x32_w32x32_s5_a4".
  std::string kernel_name() const;
  // All of it, "sm90_128x192x64_c2x1_pingpong z1 auto dependent", "..._streamk z1 auto split4";
  // reads back equal.
  std::string text() const;
};
std::optional<Configuration> parse_configuration(std::string_view text);

// As GemmArguments wants it: 1, 0, or -1 for the kernel's choice.
int raster_along_m(const Configuration& configuration);
// Where blocks that share tiles along K leave their sums, and what they count by: of the stream-K
// schedule a lock a group of warps, of the multistage schedule a number a tile. 0 for others.
std::int64_t workspace_bytes(const Gemm& gemm, const Configuration& configuration);
// How many blocks share a multiprocessor, so that one multiplies while another stores: two of the
// implicit schedule where a thread has 64 sums or fewer, else one.
int blocks_per_multiprocessor(const Configuration& configuration);

// To kernels of sm80 a batch is a dimension of the grid.
constexpr std::int64_t kMostMatricesOfGrid = tessera::cutlass::kMostBlocksOfGrid;

// A device as far as the choice depends on it.
struct Device {
  int multiprocessors = 132;
  // What each multiprocessor has for all its blocks.
  std::int64_t shared_bytes = 228 << 10;
  int threads = 2048;
};

// "sm_90a": -arch, and where that is open, sm_90a.
std::string architecture(const Target& target);
// Is the architecture one that kernels exist for?
bool has_kernels(const Target& target);
// That of -multiprocessors, or the usual one of the architecture.
Device device_of(const Target& target);
// Has the target's architecture the instructions of the sm90 schedules?
bool has_tma(const Target& target);
// Shared memory that a block can have: all of a multiprocessor's but what the system has of each.
constexpr std::int64_t kSystemBytesOfBlock = 1024;
std::int64_t shared_bytes_of(const Target& target);

// All that can compute the product, the presumably fastest first: by waves of tiles, the rate that
// a tile of that shape can reach, and what a wave costs at least. `cluster_shapes` of the target
// narrow it. With the multistage schedule each has as many parts along K as are the fastest of the
// possible ones (splits.h).
std::vector<Configuration> candidates(const Gemm& gemm, const Target& target, const Device& device);

// Does the target whose candidate it is leave open how bands of tiles go? Else all is launched so.
bool leaves_bands_open(const Configuration& candidate);

// The ways to launch one of them, itself first: early or not. If there is more than a wave of
// tiles, there are bands of some widths in both directions, unless the target says which. Stream-K
// has sums in as many parts as `split_k_slices` of the target says. The multistage schedule has
// those, too; for gradients by weights it has some more and fewer instead.
std::vector<Configuration> launches(const Gemm& gemm, const Configuration& candidate,
                                    const Target& target);

}  // namespace tessera::backends::cutlass
