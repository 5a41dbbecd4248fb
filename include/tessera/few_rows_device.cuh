// SPDX-License-Identifier: Apache-2.0
//
// What few_rows.cuh is made of, as a GPU has it.
#ifndef TESSERA_FEW_ROWS_DEVICE_CUH_
#define TESSERA_FEW_ROWS_DEVICE_CUH_

#define TK_INLINE_MEMBER __device__ __forceinline__
#define TK_SHARED(type, name, count) __shared__ type name[count]

namespace tk {

TK_INLINE int thread() { return static_cast<int>(threadIdx.x); }
TK_INLINE void barrier() { __syncthreads(); }
TK_INLINE float as_float(uint32_t bits) { return __uint_as_float(bits); }

// Of a matrix that is read once, so that it leaves the rows in the cache. Not `.nc`: the kernel
// before this one may be writing it until wait_for_inputs.
TK_INLINE quad load_once(const void* from) {
  quad q;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(q.e[0]), "=r"(q.e[1]), "=r"(q.e[2]), "=r"(q.e[3])
               : "l"(from));
  return q;
}
// Brings a line of 128 bytes nearer and reads nothing: it may stand before wait_for_inputs.
TK_INLINE void prefetch_line(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

// Two floats in bfloat16, the first in the low half.
TK_INLINE uint32_t bfloat16_pair(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

template <class Half>
TK_INLINE uint32_t fma_pair(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  if constexpr (half_form<Half>::kDigits == 10) {
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  } else {
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  }
  return d;
}

// A warp's product of 16 by 16 and 16 by 8 numbers, added to 16 by 8 sums.
template <class Half>
TK_INLINE void multiply_add(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                            uint32_t b0, uint32_t b1) {
  if constexpr (half_form<Half>::kDigits == 10) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
}

}  // namespace tk

#endif  // TESSERA_FEW_ROWS_DEVICE_CUH_
