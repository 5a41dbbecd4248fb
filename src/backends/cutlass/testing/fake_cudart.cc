// SPDX-License-Identifier: Apache-2.0
// For tests: CUDA's runtime as far as a measuring program calls it, without a device. Kernels do
// nothing; a candidate's launch takes the time that its table says, or the result is wrong, or one
// of its replays fails, which the calls after it tell.
#include <cstring>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include "backends/cutlass/kernels/gemm.h"

struct Behaviour {
  double us;
  bool is_wrong;
  const char* refusal;
  int faulty_replay;  // counted from 1; 0: none
  unsigned host_us;   // of a launch
};
extern "C" const Behaviour fake_candidates[];

namespace {

double now_us = 0;      // of the device
int last_launched = 0;  // candidate
int captured = 0;       // launches
double event_us[16];
std::size_t events = 0, replays = 0;

struct Graph {
  int candidate, launches;
};
cudaError_t fault = cudaSuccess;  // of a kernel that ran, for good
int replays_of[64];               // by candidate
Graph graphs[64];
std::size_t graph_count = 0;

}  // namespace

extern "C" {

int32_t fake_launch(int candidate, const tessera_call* call) {
  last_launched = candidate;
  ++captured;
  usleep(fake_candidates[candidate].host_us);
  if (fake_candidates[candidate].refusal == nullptr) return 0;
  call->set_error(call, fake_candidates[candidate].refusal);
  return 1;
}

cudaError_t cudaMalloc(void** p, std::size_t) {
  static char memory[1 << 12];
  *p = memory;  // nobody writes there
  return cudaSuccess;
}
// What a comparison found: Difference of measure_result.cuh.
cudaError_t cudaMemcpy(void* to, const void*, std::size_t, cudaMemcpyKind) {
  struct {
    double squares, wanted_squares;
    unsigned long long compared;
    unsigned largest;
  } found = {fake_candidates[last_launched].is_wrong ? 1. : 0., 1, 1ull << 40, 0};
  std::memcpy(to, &found, sizeof found);
  return fault;
}
cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t) {
  return fault;
}
cudaError_t cudaMemset(void*, int, std::size_t) { return cudaSuccess; }
cudaError_t cudaMemsetAsync(void*, int, std::size_t, cudaStream_t) { return fault; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  p->l2CacheSize = 50 << 20;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* unused, std::size_t* all) {
  *unused = *all = 1 << 30;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t status) {
  return status == cudaSuccess ? "none" : "an illegal memory access was encountered";
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaStreamCreate(cudaStream_t*) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return fault; }
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  captured = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) { return cudaSuccess; }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t, unsigned long long) {
  graphs[graph_count] = {last_launched, captured};
  *exec = reinterpret_cast<cudaGraphExec_t>(&graphs[graph_count++]);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
// The card is a fifth faster until it is warm.
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
  if (fault != cudaSuccess) return fault;
  const auto* graph = reinterpret_cast<const Graph*>(exec);
  if (++replays_of[graph->candidate] == fake_candidates[graph->candidate].faulty_replay) {
    fault = cudaErrorIllegalAddress;
  }
  last_launched = graph->candidate;
  const double speed = ++replays < 100 ? 0.8 : 1;
  now_us += speed * fake_candidates[graph->candidate].us * graph->launches;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = reinterpret_cast<cudaEvent_t>(&event_us[events++]);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *reinterpret_cast<double*>(event) = now_us;
  return fault;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  *ms =
      static_cast<float>((*reinterpret_cast<double*>(to) - *reinterpret_cast<double*>(from)) / 1e3);
  return cudaSuccess;
}

// What nvcc makes of a launch. NOLINTBEGIN(bugprone-reserved-identifier): the names are its own.
void** __cudaRegisterFatBinary(void*) { return nullptr; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, void*) { return 0; }
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) { return cudaSuccess; }
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) { return cudaSuccess; }
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return cudaSuccess;
}
// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
