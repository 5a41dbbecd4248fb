// SPDX-License-Identifier: Apache-2.0
// Checks and times the attention kernels of the cutlass back end: 16 heads of 64 in one packed
// tensor [batch, row, 3, head, 64], float16: without a mask, with one for each batch, the same as
// one row a query, and causal. Errors are against float32 in the Frobenius norm; times are medians
// of 21 replays of graphs of 24 launches. CUTLASS is the folder that holds CUTLASS's include/ and
// examples/:
//
//   nvcc -std=c++20 -O3 -DNDEBUG -arch=sm_90a --expt-relaxed-constexpr -I$CUTLASS/include
//     -I$CUTLASS/examples/88_hopper_fmha -Isrc -Iinclude bench/gpu/attention.cu -o attention
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "backends/cutlass/kernels/attention_sm90.cuh"

#define CHECK(call)                                                                \
  do {                                                                             \
    const auto status_ = (call);                                                   \
    if (status_ != cudaSuccess) {                                                  \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

namespace tessera::cutlass {

enum MaskKind { kNone, kOfKeys, kOfQueries, kCausal };

template <MaskKind kKind>
struct HalfHeads {
  using Element = ::cutlass::half_t;
  using Mask = ::cutlass::half_t;
  static constexpr int kWidth = 64;
  static constexpr bool kIsCausal = kKind == kCausal;
  static constexpr int kMaskRows = kKind == kOfKeys ? 1 : kKind == kOfQueries ? 2 : 0;
  static constexpr bool kIsOdd = false;
};
template <int kRows, int kColumns, class How>
struct Block {
  static constexpr int kQueries = kRows, kKeys = kColumns;
  using Schedule = How;
};
template <MaskKind kKind>
using Small = AttentionSm90<HalfHeads<kKind>, Block<64, 128, SelfLoading>>;
template <MaskKind kKind>
using Large = AttentionSm90<HalfHeads<kKind>, Block<128, 128, PersistentPair>>;

}  // namespace tessera::cutlass

using namespace tessera::cutlass;

__global__ void fill(__half* x, size_t count, unsigned seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    unsigned long long z = (i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z ^= z >> 27;
    x[i] = __float2half((float(z & 0xffffff) / 8388608.f - 1.f) * 1.7f);
  }
}
// The last `batch` eighths of the keys of a batch are masked out, half of them at most.
__global__ void fill_mask(__half* mask, int rows, int keys) {
  const int batch = blockIdx.x, masked = keys * (batch % 5) / 8;
  for (int i = threadIdx.x; i < rows * keys; i += blockDim.x) {
    mask[batch * rows * keys + i] = __float2half(i % keys >= keys - masked ? -65504.f : 0.f);
  }
}
// One block a query; 64 threads, one an element of the head.
__global__ void reference(const __half* qkv, const __half* mask, bool causal, float* o, int heads,
                          int rows) {
  extern __shared__ float scores[];
  const int row = blockIdx.x, head = blockIdx.y, batch = blockIdx.z, i = threadIdx.x;
  const auto at = [&](int r, int part) {
    return qkv + ((size_t(batch) * rows + r) * 3 + part) * heads * 64 + head * 64;
  };
  for (int key = i; key < rows; key += 64) {
    float sum = 0;
    for (int j = 0; j < 64; ++j) sum += __half2float(at(row, 0)[j]) * __half2float(at(key, 1)[j]);
    scores[key] = sum * 0.125f + (mask ? __half2float(mask[batch * rows + key]) : 0.f);
    if (causal && key > row) scores[key] = -INFINITY;
  }
  __syncthreads();
  float largest = -INFINITY, total = 0, sum = 0;
  for (int key = 0; key < rows; ++key) largest = fmaxf(largest, scores[key]);
  for (int key = 0; key < rows; ++key) {
    const float p = expf(scores[key] - largest);
    total += p;
    sum += p * __half2float(at(key, 2)[i]);
  }
  o[((size_t(batch) * rows + row) * heads + head) * 64 + i] = sum / total;
}

void set_error(const tessera_call*, const char* text) { std::printf("  error: %s\n", text); }

template <class T>
T* device_array(size_t count) {
  void* p = nullptr;
  CHECK(cudaMalloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}

using Run = int32_t (*)(const char*, const tessera_call*, const AttentionArguments&);

void test(const char* name, Run run, int batch, int rows, MaskKind kind) {
  constexpr int kHeads = 16;
  static constexpr const char* kNames[] = {"no mask", "mask", "mask of queries", "causal"};
  const bool has_mask = kind == kOfKeys || kind == kOfQueries;
  const size_t count = size_t(batch) * rows * kHeads * 64;
  __half *qkv = device_array<__half>(count * 3), *mask = device_array<__half>(size_t(batch) * rows),
         *long_mask = device_array<__half>(size_t(batch) * rows * rows),
         *o = device_array<__half>(count);
  float *wanted = device_array<float>(count), *workspace = device_array<float>(rows + 128);
  fill<<<512, 256>>>(qkv, count * 3, 1);
  fill_mask<<<batch, 128>>>(mask, 1, rows);
  fill_mask<<<batch, 128>>>(long_mask, rows, rows);
  reference<<<dim3(rows, kHeads, batch), 64, rows * 4>>>(qkv, has_mask ? mask : nullptr,
                                                         kind == kCausal, wanted, kHeads, rows);
  CHECK(cudaMemset(o, 0xff, count * 2));
  CHECK(cudaDeviceSynchronize());

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  tessera_call call = {};
  call.device = {TESSERA_CUDA, 0};
  call.stream = stream;
  call.workspace = workspace;
  call.set_error = set_error;
  AttentionArguments a = {};
  a.batch = batch, a.heads = kHeads, a.queries = a.keys = rows, a.width = 64, a.scale = 0.125f;
  const int64_t row = 3 * kHeads * 64;
  a.q = {qkv, rows * row, 64, row};
  a.k = {qkv + kHeads * 64, rows * row, 64, row};
  a.v = {qkv + 2 * kHeads * 64, rows * row, 64, row};
  a.o = {o, int64_t(rows) * kHeads * 64, 64, kHeads * 64};
  a.mask = {mask, rows, 0, 0};
  if (kind == kOfQueries) a.mask = {long_mask, int64_t(rows) * rows, 0, rows};
  double us[2] = {0, 0};
  for (const int dependent : {0, 1}) {
    a.dependent = dependent;
    if (run(name, &call, a) != 0) return;
    if (const auto status = cudaStreamSynchronize(stream); status != cudaSuccess) {
      std::printf("%s b%d s%d: %s\n", name, batch, rows, cudaGetErrorString(status));
      std::exit(1);
    }
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 24; ++i) run(name, &call, a);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    std::vector<float> times;
    for (int i = 0; i < 21; ++i) {
      CHECK(cudaEventRecord(from, stream));
      CHECK(cudaGraphLaunch(exec, stream));
      CHECK(cudaEventRecord(to, stream));
      CHECK(cudaEventSynchronize(to));
      float ms = 0;
      CHECK(cudaEventElapsedTime(&ms, from, to));
      times.push_back(ms * 1e3f / 24);
    }
    std::sort(times.begin(), times.end());
    us[dependent] = times[10];
  }
  std::vector<__half> got(count);
  std::vector<float> want(count);
  CHECK(cudaMemcpy(got.data(), o, count * 2, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(want.data(), wanted, count * 4, cudaMemcpyDeviceToHost));
  double error = 0, norm = 0;
  for (size_t i = 0; i < count; ++i) {
    const double e = double(__half2float(got[i])) - want[i];
    error += e * e;
    norm += double(want[i]) * want[i];
  }
  std::printf("ATTENTION b%d s%d %s %s: %.2f us, dependent %.2f us, relative error %.2g\n", batch,
              rows, name, kNames[kind], us[0], us[1], std::sqrt(error / norm));
  std::fflush(stdout);
  for (void* p :
       {(void*)qkv, (void*)mask, (void*)long_mask, (void*)o, (void*)wanted, (void*)workspace})
    cudaFree(p);
}

template <MaskKind kKind>
void test_both(int batch, int rows) {
  test("64x128 self-loading", Small<kKind>::run, batch, rows, kKind);
  test("128x128 persistent", Large<kKind>::run, batch, rows, kKind);
}

int main() {
  struct Sizes {
    int batch, rows;
  };
  for (const Sizes s : {Sizes{1, 128},
                        {1, 384},
                        {8, 384},
                        {32, 128},
                        {32, 384},
                        {8, 512},
                        {32, 197},
                        {2, 200},
                        {3, 197}}) {
    test_both<kNone>(s.batch, s.rows);
    test_both<kCausal>(s.batch, s.rows);
    if (s.rows % 2 != 0) continue;  // pairs of keys
    test_both<kOfKeys>(s.batch, s.rows);
    test_both<kOfQueries>(s.batch, s.rows);
  }
  return 0;
}
