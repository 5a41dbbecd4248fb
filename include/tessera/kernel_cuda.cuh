// SPDX-License-Identifier: Apache-2.0
//
// What generated CUDA kernels call besides tessera/call.h: storage types, scalar functions, vector
// access, reductions over the threads of a warp or block, and the launch itself.
//
// The same names as in kernel_math.h, so that expressions have one text on every device.
#ifndef TESSERA_KERNEL_CUDA_CUH_
#define TESSERA_KERNEL_CUDA_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tessera/call.h"
#include "tessera/fault.h"

// Launchers count blocks with these, too.
#define TK_INLINE static __host__ __device__ __forceinline__
#include "tessera/kernel_numbers.h"
#undef TK_INLINE

#define TK_INLINE static __device__ __forceinline__

namespace tk {

// ---- Storage types. Kernels compute in float and convert where they load and store.

using float16 = __half;
using bfloat16 = __nv_bfloat16;

// ---- Float functions

#define TK_UNARY(name, single)                        \
  TK_INLINE float name(float x) { return single(x); } \
  TK_INLINE double name(double x) { return ::name(x); }
TK_UNARY(exp, expf)
TK_UNARY(exp2, exp2f)
TK_UNARY(expm1, expm1f)
TK_UNARY(log, logf)
TK_UNARY(log2, log2f)
TK_UNARY(log10, log10f)
TK_UNARY(log1p, log1pf)
TK_UNARY(sqrt, sqrtf)
TK_UNARY(rsqrt, rsqrtf)
TK_UNARY(fabs, fabsf)
TK_UNARY(floor, floorf)
TK_UNARY(ceil, ceilf)
TK_UNARY(trunc, truncf)
TK_UNARY(rint, rintf)
TK_UNARY(tanh, tanhf)
TK_UNARY(erf, erff)
TK_UNARY(sin, sinf)
TK_UNARY(cos, cosf)
TK_UNARY(tan, tanf)
TK_UNARY(asin, asinf)
TK_UNARY(acos, acosf)
TK_UNARY(atan, atanf)
TK_UNARY(sinh, sinhf)
TK_UNARY(cosh, coshf)
TK_UNARY(asinh, asinhf)
TK_UNARY(acosh, acoshf)
TK_UNARY(atanh, atanhf)
#undef TK_UNARY
TK_INLINE float pow(float x, float y) { return powf(x, y); }
TK_INLINE double pow(double x, double y) { return ::pow(x, y); }
TK_INLINE float fmod(float x, float y) { return fmodf(x, y); }
TK_INLINE double fmod(double x, double y) { return ::fmod(x, y); }
TK_INLINE float atan2(float y, float x) { return atan2f(y, x); }
TK_INLINE double atan2(double y, double x) { return ::atan2(y, x); }

// Devices of 8.9 and later have an instruction for two numbers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define TK_FLOAT8(name, type, kNaN)                                                          \
  TK_INLINE float name(float x) {                                                            \
    uint16_t codes;                                                                          \
    asm("cvt.rn.satfinite." type "x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(0.0f), "f"(x));    \
    return x != x ? float(kNaN) : float(codes & 0xff);                                       \
  }
TK_FLOAT8(float8_e4m3_code, "e4m3", 0x7f)
TK_FLOAT8(float8_e5m2_code, "e5m2", 0x7e)
#undef TK_FLOAT8
#else
TK_INLINE float float8_e4m3_code(float x) { return float8_code<3, 7, 0x7e, 0x7f>(x); }
TK_INLINE float float8_e5m2_code(float x) { return float8_code<2, 15, 0x7b, 0x7e>(x); }
#endif
TK_INLINE float sigmoid(float x) {
  const float e = expf(-fabsf(x));  // of a negative number: no overflow
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
TK_INLINE double sigmoid(double x) { return 1.0 / (1.0 + ::exp(-x)); }

template <class T>
TK_INLINE bool isnan(T x) {
  return x != x;
}
template <class T>
TK_INLINE bool isinf(T x) {
  return fabs(x) == static_cast<T>(__builtin_inf());
}
template <class T>
TK_INLINE bool isfinite(T x) {
  return fabs(x) < static_cast<T>(__builtin_inf());
}

// ---- For kernels whose memory holds float16 or bfloat16 alone: errors that such results do not
// show, in one or two instructions of the special-function unit.

TK_INLINE float exp2_half(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
TK_INLINE float exp_half(float x) { return __expf(x); }
// Within two units in the last place, for all divisors.
TK_INLINE float div_half(float x, float y) {
  float quotient;
  asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(x), "f"(y));
  return quotient;
}
// Small where the result is small, so that 1 - tanh keeps its digits.
TK_INLINE float tanh_half(float x) { return 1.0f - __fdividef(2.0f, 1.0f + __expf(2.0f * x)); }
TK_INLINE float sigmoid_half(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
// erf(x) = tanh(x (1.12784637 + 0.10466792 u - 1.98852405e-3 u^2)), u = x^2, with u cut off where
// the result is 1: within 1.1e-4. The factors hold the 2 log2(e) of tanh's exponential.
TK_INLINE float erf_half(float x) {
  const float u = fminf(x * x, 8.82f);
  const float p = fmaf(fmaf(-5.73766757e-3f, u, 0.302007778f), u, 3.25427674f);
  return 1.0f - __fdividef(2.0f, 1.0f + exp2_half(x * p));
}

// ---- Vectors in memory: `count` neighbours as values, in accesses of up to 16 bytes. The address
// is aligned to the smaller of 16 bytes and the whole.

template <class T, int kBytes>
struct alignas(kBytes) chunk {
  T e[kBytes / sizeof(T)];
};
template <int kBytes>
constexpr int kChunkBytes = kBytes % 16 == 0  ? 16
                            : kBytes % 8 == 0 ? 8
                            : kBytes % 4 == 0 ? 4
                                              : 1;

// The bytes of one access to `kCount` neighbours: an element at least.
template <int kCount, class T>
constexpr int kAccessBytes = kChunkBytes<kCount* static_cast<int>(sizeof(T))> <
                                     static_cast<int>(sizeof(T))
                                 ? static_cast<int>(sizeof(T))
                                 : kChunkBytes<kCount* static_cast<int>(sizeof(T))>;

template <int kCount, class V, class T>
TK_INLINE void load_vector(V* to, const T* from) {
  constexpr int kBytes = kAccessBytes<kCount, T>;
  constexpr int kEach = kBytes / static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < kCount / kEach; ++i) {
    const chunk<T, kBytes> c = reinterpret_cast<const chunk<T, kBytes>*>(from)[i];
#pragma unroll
    for (int k = 0; k < kEach; ++k) to[i * kEach + k] = static_cast<V>(c.e[k]);
  }
}
// Bytes as the registers that one access fills.
template <int kBytes>
struct raw;
template <>
struct raw<16> {
  using type = uint4;
};
template <>
struct raw<8> {
  using type = uint2;
};
template <>
struct raw<4> {
  using type = uint32_t;
};
template <>
struct raw<2> {
  using type = uint16_t;
};
template <>
struct raw<1> {
  using type = uint8_t;
};
// Zeros where the condition does not hold, and nothing is read. What is conditional is the access
// alone, so that it takes a predicate and no branch, and others can be under way with it.
template <int kCount, class V, class T>
TK_INLINE void load_vector_if(bool condition, V* to, const T* from) {
  constexpr int kBytes = kAccessBytes<kCount, T>;
  constexpr int kEach = kBytes / static_cast<int>(sizeof(T));
  using Raw = typename raw<kBytes>::type;
#pragma unroll
  for (int i = 0; i < kCount / kEach; ++i) {
    Raw r = {};
    if (condition) r = reinterpret_cast<const Raw*>(from)[i];
    chunk<T, kBytes> c;
    memcpy(&c, &r, kBytes);
#pragma unroll
    for (int k = 0; k < kEach; ++k) to[i * kEach + k] = static_cast<V>(c.e[k]);
  }
}
template <int kCount, class V, class T>
TK_INLINE void store_vector(T* to, const V* from) {
  constexpr int kBytes = kAccessBytes<kCount, T>;
  constexpr int kEach = kBytes / static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < kCount / kEach; ++i) {
    chunk<T, kBytes> c;
#pragma unroll
    for (int k = 0; k < kEach; ++k) c.e[k] = static_cast<T>(from[i * kEach + k]);
    reinterpret_cast<chunk<T, kBytes>*>(to)[i] = c;
  }
}

// ---- Teams: threads that work on one thing together. All of them call, with the same results.

struct add {
  template <class T>
  static __device__ __forceinline__ T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct multiply {
  template <class T>
  static __device__ __forceinline__ T apply(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct least {
  template <class T>
  static __device__ __forceinline__ T apply(T a, T b) {
    return tk::min<T>(a, b);
  }
};
struct greatest {
  template <class T>
  static __device__ __forceinline__ T apply(T a, T b) {
    return tk::max<T>(a, b);
  }
};
struct any {
  static __device__ __forceinline__ bool apply(bool a, bool b) { return a || b; }
};
struct all {
  static __device__ __forceinline__ bool apply(bool a, bool b) { return a && b; }
};

template <class T>
TK_INLINE T exchange(T value, int distance) {
  if constexpr (sizeof(T) < 4) {
    return static_cast<T>(__shfl_xor_sync(0xffffffffu, static_cast<int>(value), distance));
  } else if constexpr (sizeof(T) == 8 && static_cast<T>(0.5) == T(0)) {
    return static_cast<T>(__shfl_xor_sync(0xffffffffu, static_cast<long long>(value), distance));
  } else {
    return __shfl_xor_sync(0xffffffffu, value, distance);
  }
}

struct warp {
  static __device__ __forceinline__ void sync() { __syncwarp(); }
  template <class Op, class T>
  static __device__ __forceinline__ T reduce(T value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      value = Op::apply(value, exchange(value, distance));
    }
    return value;
  }
};

template <int kThreads>
struct block {
  static __device__ __forceinline__ void sync() { __syncthreads(); }
  template <class Op, class T>
  static __device__ __forceinline__ T reduce(T value) {
    constexpr int kWarps = kThreads / 32;
    value = warp::reduce<Op>(value);
    if constexpr (kWarps > 1) {
      __shared__ T of_warps[kWarps];
      __syncthreads();  // an earlier reduction has been read
      if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
      __syncthreads();
      value = of_warps[0];
#pragma unroll
      for (int w = 1; w < kWarps; ++w) value = Op::apply(value, of_warps[w]);
    }
    return value;
  }
};

// ---- Conditions

// Where a thread that finds an operand to be wrong says so, and the sentence for it.
struct report {
  tessera_fault* fault;
  const char* sentence;  // of the host
};
// The first of all threads is heard. What the host looks at, the sentence, is there last.
TK_INLINE void fail(const report& to, long long a = 0, long long b = 0, long long c = 0,
                    long long d = 0) {
  if (atomicCAS(&to.fault->taken, 0u, 1u) != 0u) return;
  to.fault->values[0] = a;
  to.fault->values[1] = b;
  to.fault->values[2] = c;
  to.fault->values[3] = d;
  __threadfence_system();
  *const_cast<const char* volatile*>(&to.fault->sentence) = to.sentence;
}

// ---- Launches

// 0: a kernel begins when the one before it has ended (`cuda -dependent_launch=false`).
#ifndef TK_DEPENDENT_LAUNCH
#define TK_DEPENDENT_LAUNCH 1
#endif

// A pointer to global memory of which no more is known.
template <class T>
TK_INLINE void forget(T*& pointer) {
  auto address = __cvta_generic_to_global(pointer);
  asm volatile("" : "+l"(address));
  pointer = static_cast<T*>(__cvta_global_to_generic(address));
}

// Every kernel begins with this: what it reads may still be being written by the kernel before it,
// whose end it then waits for. The kernel after it, which waits likewise, may be launched as soon
// as all blocks of this one have begun.
//
// `inputs` are all pointers that the kernel reads by. The compiler sees who writes by them in the
// kernel, takes the memory of the others for constant while it runs, and ptxas then moves loads in
// front of the wait; so they are forgotten.
template <class... T>
TK_INLINE void wait_for_inputs(T*&... inputs) {
#if TK_DEPENDENT_LAUNCH && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  (forget(inputs), ...);
#endif
}

// Are all architectures of this translation unit of at least the version?
constexpr bool all_archs_have(int version) {
#ifdef __CUDA_ARCH_LIST__
  constexpr int kArchs[] = {__CUDA_ARCH_LIST__};
  for (const int arch : kArchs) {
    if (arch < version) return false;
  }
  return true;
#else
  return false;
#endif
}

// On the stream of the call. With dependent launches the device prepares a kernel while the one
// before it ends.
template <class... P, class... A>
int32_t launch(const tessera_call* call, const char* name, void (*kernel)(P...), int64_t blocks,
               int threads, A... args) {
  if (blocks <= 0) return 0;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = static_cast<cudaStream_t>(call->stream);
  cudaLaunchAttribute dependent;
  dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  dependent.val.programmaticStreamSerializationAllowed = 1;
  if (TK_DEPENDENT_LAUNCH != 0 && all_archs_have(900)) {
    config.attrs = &dependent;
    config.numAttrs = 1;
  }
  cudaError_t status = cudaErrorInvalidConfiguration;
  if (blocks <= 0x7fffffff) {
    status = cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...);
  }
  if (status == cudaSuccess) return 0;
  char text[512];
  snprintf(text, sizeof text, "kernel `%s` could not be launched: %s", name,
           cudaGetErrorString(status));
  call->set_error(call, text);
  return 1;
}

}  // namespace tk

#include "tessera/block_product.cuh"
#include "tessera/few_rows.cuh"
#include "tessera/window_product.cuh"

#endif  // TESSERA_KERNEL_CUDA_CUH_
