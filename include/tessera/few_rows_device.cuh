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

TK_INLINE void meet_warp() { __syncwarp(); }

// Copies 16 bytes to shared memory while the thread goes on, past the first cache: a matrix is read
// once, and leaves the rows there. Zeros where there is nothing.
TK_INLINE void copy_async(void* to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(is_there ? 16 : 0)
               : "memory");
}
// The copies that the thread began since the last one are a group.
TK_INLINE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until all groups of the thread but the last `kGroups` are there.
template <int kGroups>
TK_INLINE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}
// Brings a line of 128 bytes nearer and reads nothing: it may stand before wait_for_inputs.
TK_INLINE void prefetch_line(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

// (a & b) | c as one instruction: of two constants, one lies in a register.
TK_INLINE uint32_t and_or(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

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

// Four matrices of 8 by 8 numbers of 16 bits, of which each lane has two neighbours of the row lane
// / 4; lane 8 i + r says where row r of matrix i is in shared memory.
TK_INLINE void load_matrices(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}
// The same of columns in place of rows.
TK_INLINE void load_matrices_across(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

}  // namespace tk

#endif  // TESSERA_FEW_ROWS_DEVICE_CUH_
