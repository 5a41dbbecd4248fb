// SPDX-License-Identifier: Apache-2.0
// Sums along K in parts: the blocks of a tile leave theirs in the workspace, and the last one to
// come adds them, in the order of K whoever that is, so that results do not differ from run to run.
#pragma once

#include <type_traits>

#include <cutlass/array.h>
#include <cutlass/cutlass.h>
#include <cutlass/gemm_coord.h>

#include "backends/cutlass/kernels/launch.cuh"

namespace tessera::cutlass {

// Sums: a thread's, of kThreads of a block.
template <class Sums, int kThreads>
struct SplitSums {
  using Element = typename Sums::Element;
  using GemmCoord = ::cutlass::gemm::GemmCoord;
  // Sums of a thread at once: 16 bytes.
  using Vector = ::cutlass::AlignedArray<Element, 16 / sizeof(Element)>;
  static constexpr int kVectors = Sums::kElements / Vector::kElements;
  static_assert(Sums::kElements % Vector::kElements == 0);

  struct Params {
    GemmCoord grid;    // of tiles; along K, parts
    Vector* parts;     // [tile, part of K, vector, thread]
    int32_t* arrived;  // by tile: blocks that have left theirs
  };

  // Finds the workspace, where what counts is behind the sums, and clears that. False: it has
  // called set_error.
  static bool prepare(KernelCode& code, const tessera_call* call, const GemmCoord& grid,
                      Params& params) {
    params = {grid, nullptr, nullptr};
    if (grid.k() < 2) return true;
    const int64_t parts = int64_t(grid.product()) * kVectors * kThreads * sizeof(Vector),
                  counters = int64_t(grid.m()) * grid.n() * sizeof(int32_t);
    if (uint64_t(parts + counters) > call->workspace_bytes) {
      failed(call, code, "its workspace is too small");
      return false;
    }
    auto* memory = static_cast<char*>(call->workspace);
    params.parts = reinterpret_cast<Vector*>(memory);
    params.arrived = reinterpret_cast<int32_t*>(memory + parts);
    const cudaError_t status =
        cudaMemsetAsync(params.arrived, 0, counters, static_cast<cudaStream_t>(call->stream));
    if (status != cudaSuccess) failed(call, code, cudaGetErrorString(status));
    return status == cudaSuccess;
  }

  // False for all blocks of a tile but one, which then has all its sums. They are aligned as
  // vectors. `shared`: of the block, for this alone.
  static CUTLASS_DEVICE bool join(const Params& p, const GemmCoord& tile, int32_t& shared,
                                  Sums& sums) {
    const int number = tile.m() + tile.n() * p.grid.m(), splits = p.grid.k();
    Vector* parts = p.parts + int64_t(number) * splits * kVectors * kThreads + threadIdx.x;
    auto* own = reinterpret_cast<Vector*>(&sums);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < kVectors; ++i) parts[(tile.k() * kVectors + i) * kThreads] = own[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) shared = atomicAdd(p.arrived + number, 1);
    __syncthreads();
    if (shared + 1 < splits) return false;
    __threadfence();
    sums.clear();
    for (int part = 0; part < splits; ++part) {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < kVectors; ++i) add(parts + (part * kVectors + i) * kThreads, own[i]);
    }
    return true;
  }

 private:
  // Past the cache of the multiprocessor, which knows nothing of the others.
  static CUTLASS_DEVICE void add(const Vector* part, Vector& sums) {
    const int4 bits = __ldcg(reinterpret_cast<const int4*>(part));
    const auto& of_part = reinterpret_cast<const Vector&>(bits);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < Vector::kElements; ++i) sums[i] += of_part[i];
  }
};

}  // namespace tessera::cutlass
