// SPDX-License-Identifier: Apache-2.0
// Attention in one kernel with mma.sync, for architectures without wgmma and for float32: a warp
// has whole rows of queries, whose scores, shares and results stay in its registers, and goes
// through blocks of keys and values with the softmax of what it has seen. cp.async brings the
// values while the scores are made, and the next keys while the values are summed.
#pragma once

#include <type_traits>

#include <cute/tensor.hpp>

#include "backends/cutlass/kernels/attention_masks.cuh"
#include "backends/cutlass/kernels/attention_products_sm80.cuh"
#include "backends/cutlass/kernels/launch_sm80.cuh"

namespace tessera::cutlass {

using cute::_;
using cute::_16;

// The softmax of the rows of a thread, block by block of their keys: sums are of this thread's
// part of the row until the end.
template <int kRows>
struct RunningSoftmax {
  float largest[kRows], sums[kRows];

  CUTLASS_DEVICE RunningSoftmax() {
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < kRows; ++r) largest[r] = -INFINITY, sums[r] = 0;
  }

  // Row r of fragments of scores, and of results.
  template <class Fragment>
  static CUTLASS_DEVICE auto row(Fragment& fragment, int r) {
    return fragment(cute::make_coord(_, r % 2), r / 2, _);
  }
  // Of all four threads that share a row.
  template <class Join>
  static CUTLASS_DEVICE float joined(float x, const Join& join) {
    x = join(x, __shfl_xor_sync(0xffffffff, x, 1));
    return join(x, __shfl_xor_sync(0xffffffff, x, 2));
  }

  // Makes shares of scores, and rescales results to what the largest score is now. A row of which
  // all keys are out has no share, and one with NaN keeps it.
  template <class Scores, class Results>
  CUTLASS_DEVICE void step(Scores& scores, Results& results, float scale_log2) {
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < kRows; ++r) {
      auto shares = row(scores, r);
      float now = largest[r];
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < cute::size(shares); ++i) now = fmaxf(now, shares(i));
      now = joined(now, [](float x, float y) { return fmaxf(x, y); });
      const float base = now == -INFINITY ? 0 : now;
      const float rescale = exp2f((largest[r] - base) * scale_log2);
      largest[r] = now;
      sums[r] *= rescale;
      auto result = row(results, r);
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < cute::size(result); ++i) result(i) *= rescale;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < cute::size(shares); ++i) {
        shares(i) = exp2f((shares(i) - base) * scale_log2);
        sums[r] += shares(i);
      }
    }
  }
  CUTLASS_DEVICE float inverse_sum(int r) const {
    const float sum = joined(sums[r], [](float x, float y) { return x + y; });
    return sum == 0 ? 0 : 1 / sum;
  }
};

struct AttentionParamsSm80 {
  int batch, heads, queries, keys, width;
  Heads q, k, v, o;
  float scale_log2;
  MaskParams mask;
};

template <class Problem, class Config>
struct AttentionKernelSm80 {
  using Params = AttentionParamsSm80;
  using Element = typename Problem::Element;
  using Products = cutlass::Products<Element, Problem::kEmulates>;
  using Operand = typename Products::Operand;
  static constexpr int kQueries = Config::kQueries, kKeys = Config::kKeys;
  static constexpr int kWidth = Problem::kWidth;
  static constexpr int kWarps = 4, kThreadCount = 32 * kWarps;
  static constexpr int kTilesOfWarp = kQueries / (16 * kWarps);  // each of 16 rows
  static constexpr bool kHasMask = Problem::kMaskRows > 0;
  static constexpr int kUnrolledSteps = 4;  // of the products with keys; more cost registers
  static constexpr int kChunk = 16 / sizeof(Element);  // what a thread copies at once
  // Rows of shared memory: of eight, no two begin in the same banks.
  static constexpr int kPitch = kWidth + kChunk;
  static_assert(kWidth % 32 == 0 && kKeys % 16 == 0 && kQueries % (16 * kWarps) == 0);

  struct alignas(16) SharedStorage {
    Element q[kQueries * kPitch], k[kKeys * kPitch], v[kKeys * kPitch];
  };

  using Mma = cute::TiledMMA<typename Products::Atom, Layout<Shape<Int<kWarps>, _1, _1>>,
                             cute::Tile<Int<16 * kWarps>, _16, Int<Products::kDepth>>>;

  // Where a block of threads is, and a thread of it.
  struct Place {
    int batch, head, first_query;
    int thread;
    int row, key;  // its first in the block's scores
  };
  // Of blocks of queries with a causal mask the last have the most keys: they begin.
  static CUTLASS_DEVICE Place place_of(const Params& p) {
    const int blocks = (p.queries + kQueries - 1) / kQueries;
    const int block = int(blockIdx.x) % blocks, head = int(blockIdx.x) / blocks;
    const int first = (Problem::kIsCausal ? blocks - 1 - block : block) * kQueries;
    const int thread = int(threadIdx.x), lane = thread % 32;
    return {head / p.heads, head % p.heads, first, thread, first + thread / 32 * 16 + lane / 4,
            lane % 4 * 2};
  }

  static CUTLASS_DEVICE Element* head_of(const Heads& x, const Place& at) {
    return static_cast<Element*>(x.data) + at.batch * x.batch_stride + at.head * x.head_stride;
  }

  // Starts to copy rows [first, first + kRows) of a head; zeros are behind the last one, and behind
  // the last element of each.
  template <int kRows>
  static CUTLASS_DEVICE void copy_rows(Element* shared, const Heads& x, const Place& at, int first,
                                       int rows, int width) {
    constexpr int kChunks = kWidth / kChunk;
    const Element* head = head_of(x, at);
    int64_t row_stride = x.row_stride;
#if defined(__CUDA_ARCH__)  // or multiples of it would have registers while blocks are multiplied
    asm volatile("" : "+l"(row_stride));
#endif
    CUTLASS_PRAGMA_UNROLL
    for (int begin = 0; begin < kRows * kChunks; begin += kThreadCount) {
      const int i = begin + at.thread;
      if (kRows * kChunks % kThreadCount != 0 && i >= kRows * kChunks) break;
      const int row = i / kChunks, element = i % kChunks * kChunk;
      const bool inside = first + row < rows && element < width;
      const Element* from = inside ? head + (first + row) * row_stride + element : head;
      cute::SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<cute::uint128_t>::copy(
          *reinterpret_cast<const cute::uint128_t*>(from),
          *reinterpret_cast<cute::uint128_t*>(shared + row * kPitch + element), inside);
    }
  }
  // What all threads have started to copy is there, and nobody reads any more what comes next.
  static CUTLASS_DEVICE void wait_for_copies() {
    cute::cp_async_wait<0>();
    __syncthreads();
  }

  static CUTLASS_DEVICE auto as_operands(Element* shared) {
    return cute::make_smem_ptr(reinterpret_cast<Operand*>(shared));
  }

  // A thread's part of a step along a factor of that many rows, (MMA, tiles).
  template <int kRows>
  static CUTLASS_DEVICE auto step_of() {
    return cute::make_tensor(cute::make_smem_ptr(static_cast<Operand*>(nullptr)),
                             Layout<Shape<Int<kRows>, Int<Products::kDepth>>>{});
  }

  // Adds the products of a step of the left factor, (MMA, tiles), and of the right one, which is in
  // shared memory, (copy, pairs of tiles): a copy brings two tiles of eight columns.
  template <class Left, class Copy, class Shared, class Sums>
  static CUTLASS_DEVICE void multiply(int thread, const Left& left, const Copy& copy,
                                      const Shared& shared, Sums& sums) {
    CUTLASS_PRAGMA_UNROLL
    for (int pair = 0; pair < cute::size<1>(Shared{}); ++pair) {
      auto right = Mma{}.get_thread_slice(thread).partition_fragment_B(step_of<16>());
      cute::copy(copy, shared(_, pair), copy.get_thread_slice(thread).retile_D(right)(_, 0, 0));
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < 2; ++i) {
        CUTLASS_PRAGMA_UNROLL
        for (int m = 0; m < kTilesOfWarp; ++m) {
          Products::multiply(left(_, m), right(_, i, 0), sums(_, m, 2 * pair + i));
        }
      }
    }
  }

  // Rows of queries or keys.
  template <int kRows>
  static CUTLASS_DEVICE auto rows_of(Element* shared) {
    return cute::make_tensor(as_operands(shared),
                             Layout<Shape<Int<kRows>, Int<kWidth>>, Stride<Int<kPitch>, _1>>{});
  }

  // Scores of the block's queries and keys, not scaled.
  template <class Scores>
  static CUTLASS_DEVICE void multiply_keys(SharedStorage& shared, int thread, Scores& scores) {
    using Atom = cute::Copy_Atom<cute::SM75_U32x4_LDSM_N, Operand>;
    const auto copy_q = cute::make_tiled_copy_A(Atom{}, Mma{});
    const auto copy_k = cute::make_tiled_copy_B(Atom{}, Mma{});
    const auto q = copy_q.get_thread_slice(thread).partition_S(rows_of<kQueries>(shared.q));
    const auto k = copy_k.get_thread_slice(thread).partition_S(rows_of<kKeys>(shared.k));
    cute::clear(scores);
#pragma unroll kUnrolledSteps
    for (int step = 0; step < kWidth / Products::kDepth; ++step) {
      auto left = Mma{}.get_thread_slice(thread).partition_fragment_A(step_of<kQueries>());
      cute::copy(copy_q, q(_, _, step), copy_q.get_thread_slice(thread).retile_D(left)(_, _, 0));
      multiply(thread, left(_, _, 0), copy_k, k(_, _, step), scores);
    }
  }

  // Adds the values by their shares.
  template <class Shares, class Results>
  static CUTLASS_DEVICE void multiply_values(SharedStorage& shared, int thread,
                                             const Shares& shares, Results& results) {
    using Values = typename Products::template ValuesLayout<kKeys, kWidth, kPitch>;
    const auto copy =
        cute::make_tiled_copy_B(cute::Copy_Atom<typename Products::ValuesCopy, Operand>{}, Mma{});
    const auto v = copy.get_thread_slice(thread).partition_S(
        cute::make_tensor(as_operands(shared.v), Values{}));
    const auto left = Products::left_factor(shares);
    CUTLASS_PRAGMA_UNROLL
    for (int step = 0; step < kKeys / Products::kDepth; ++step) {
      multiply(thread, left(_, _, step), copy, v(_, _, step), results);
    }
  }

  // What hides keys of the rows of each tile of 16. `key` is the thread's first of the block.
  template <class Scores, class Masks>
  static CUTLASS_DEVICE void mask(const Place& at, int key, Masks& masks, Scores& scores) {
    CUTLASS_PRAGMA_UNROLL
    for (int m = 0; m < kTilesOfWarp; ++m) {
      auto tile = scores(_, m, _);
      const auto index = [row = at.row + m * 16 * kWarps, key](int i) {
        return cute::make_tuple(row + i / 2 % 2 * 8, key + i % 2 + i / 4 * 8);
      };
      if constexpr (kHasMask) {
        mask_scores<Problem::kIsCausal>(tile, index, masks[m]);
      } else {
        cut_off_outside<Problem::kIsCausal>(tile, index, masks[m]);
      }
    }
  }
  using Masked =
      std::conditional_t<kHasMask,
                         MaskedProblem<typename Problem::Mask, kHasMask ? Problem::kMaskRows : 1,
                                       Problem::kIsOdd, kKeys>,
                         ProblemShape>;
  static CUTLASS_DEVICE Masked masked(const Params& p, const Place& at, int tile) {
    const ProblemShape sizes(p.batch, p.heads, p.queries, p.keys, p.width);
    if constexpr (kHasMask) {
      return {sizes, p.mask, at.batch, at.head, at.row + tile * 16 * kWarps, at.key};
    } else {
      return sizes;
    }
  }

  template <class Softmax, class Results>
  static CUTLASS_DEVICE void store(const Params& p, const Place& at, const Softmax& softmax,
                                   Results& results) {
    Element* head = head_of(p.o, at);
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < 2 * kTilesOfWarp; ++r) {
      const float factor = softmax.inverse_sum(r);
      const int row = at.row + r / 2 * 16 * kWarps + r % 2 * 8;
      const auto result = Softmax::row(results, r);
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < cute::size(result); i += 2) {
        const int element = at.key + i / 2 * 8;
        if (row >= p.queries || element >= p.width) continue;
        *reinterpret_cast<Pair<Element>*>(head + row * p.o.row_stride + element) =
            pair_of<Element>(result(i) * factor, result(i + 1) * factor);
      }
    }
  }

  CUTLASS_DEVICE void operator()(const Params& p, SharedStorage& shared) {
    const Place at = place_of(p);
    copy_rows<kQueries>(shared.q, p.q, at, at.first_query, p.queries, p.width);
    copy_rows<kKeys>(shared.k, p.k, at, 0, p.keys, p.width);
    auto scores = cute::partition_fragment_C(Mma{}, Shape<Int<kQueries>, Int<kKeys>>{});
    auto results = cute::partition_fragment_C(Mma{}, Shape<Int<kQueries>, Int<kWidth>>{});
    cute::clear(results);
    RunningSoftmax<2 * kTilesOfWarp> softmax;
    Masked masks[kTilesOfWarp];
    CUTLASS_PRAGMA_UNROLL
    for (int m = 0; m < kTilesOfWarp; ++m) masks[m] = masked(p, at, m);
    // Behind the last query nobody sees a key of a causal mask alone.
    const bool passes_over = Problem::kIsCausal && !kHasMask;
    const int keys = passes_over ? cute::min(p.keys, at.first_query + kQueries) : p.keys;
    for (int first = 0; first < keys; first += kKeys) {
      wait_for_copies();
      copy_rows<kKeys>(shared.v, p.v, at, first, p.keys, p.width);
      multiply_keys(shared, at.thread, scores);
      mask(at, first + at.key, masks, scores);
      wait_for_copies();
      if (first + kKeys < keys) {
        copy_rows<kKeys>(shared.k, p.k, at, first + kKeys, p.keys, p.width);
      }
      softmax.step(scores, results, p.scale_log2);
      multiply_values(shared, at.thread, scores, results);
    }
    store(p, at, softmax, results);
  }
};

// Problem: as AttentionSm90 has it, and kEmulates (float32 goes through three products of tf32);
// kWidth is a multiple of 32. Config: kQueries, a multiple of 64, and kKeys, of 16, of a block.
template <class Problem, class Config>
struct AttentionSm80 {
  using Kernel = AttentionKernelSm80<Problem, Config>;
  using Entry = EntrySm80<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const AttentionArguments& a) {
    const typename Kernel::Params params = {
        int(a.batch), int(a.heads), int(a.queries),        int(a.keys),   int(a.width), a.q, a.k,
        a.v,          a.o,          a.scale * 1.44269504f, mask_params(a)};
    const int64_t blocks =
        (a.queries + Kernel::kQueries - 1) / Kernel::kQueries * a.heads * a.batch;
    if (blocks > INT32_MAX) return failed(call, code, "there are more than 2^31 blocks of queries");
    return launch_sm80<Kernel>(code, call, params, dim3(unsigned(blocks)));
  }
};

}  // namespace tessera::cutlass
