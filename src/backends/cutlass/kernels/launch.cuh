// SPDX-License-Identifier: Apache-2.0
// What all kernels need to be launched. The code of a kernel for the device and the function that
// launches it come from one source, and are compiled
// * apart, side by side, because each takes a while: with TESSERA_DEVICE_PASS the code, an image,
//   with TESSERA_HOST_PASS the function, which loads the image when it is called first; or
// * together, with neither.
#pragma once

#include <cstdio>
#include <mutex>

#include <cuda_runtime_api.h>

#include "backends/cutlass/kernels/gemm.h"

namespace tessera::cutlass {

// A kernel, and where its code is. Whoever asks first loads it, for as long as the process lives,
// as libraries of tessera stay; threads may ask at once.
class KernelCode {
 public:
  // Of an image with one kernel, `entry`. All pointers outlive this.
  constexpr KernelCode(const char* name, const char* entry, const void* image)
      : name_(name), entry_(entry), image_(image) {}
  // That is a part of this program.
  constexpr KernelCode(const char* name, const void* kernel) : name_(name), kernel_(kernel) {}

  const char* name() const { return name_; }

  // As cudaFuncSetAttribute and cudaLaunchKernelExC take it.
  cudaError_t find(const void** kernel) {
    const std::lock_guard lock(loading_);
    const cudaError_t status = kernel_ == nullptr ? load() : cudaSuccess;
    *kernel = kernel_;
    return status;
  }

 private:
  // Loading is no work of the stream: whoever captures that must not be in its way.
  cudaError_t load() {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaError_t status = cudaSuccess;
    if (library_ == nullptr) {
      status = cudaLibraryLoadData(&library_, image_, nullptr, nullptr, 0, nullptr, nullptr, 0);
    }
    cudaKernel_t loaded = nullptr;
    if (status == cudaSuccess) status = cudaLibraryGetKernel(&loaded, library_, entry_);
    kernel_ = loaded;
    cudaThreadExchangeStreamCaptureMode(&mode);
    return status;
  }

  const char* name_;
  const char* entry_ = nullptr;
  const void* image_ = nullptr;
  const void* kernel_ = nullptr;
  cudaLibrary_t library_ = nullptr;
  std::mutex loading_;
};

struct LaunchShape {
  dim3 grid, block;
  dim3 cluster = {1, 1, 1};
  int shared_bytes = 0;
  bool is_dependent = false;  // it may start while the kernel before it ends
};

inline int32_t failed(const tessera_call* call, const KernelCode& kernel, const char* what) {
  char text[256];
  snprintf(text, sizeof text, "%s: %s", kernel.name(), what);
  call->set_error(call, text);
  return 1;
}

// Memory is what the device needs to load a kernel's code.
inline int32_t failed(const tessera_call* call, const KernelCode& kernel, cudaError_t status) {
  size_t unused = 0, all = 0;
  if (status != cudaErrorMemoryAllocation || cudaMemGetInfo(&unused, &all) != cudaSuccess) {
    return failed(call, kernel, cudaGetErrorString(status));
  }
  char text[128];
  snprintf(text, sizeof text, "out of device memory: %zu of %zu bytes are free", unused, all);
  return failed(call, kernel, text);
}

// Code for sm_80 runs on GPUs with less shared memory, too, as far as its kernels do with that.
inline int32_t failed_for_shared_memory(const tessera_call* call, const KernelCode& kernel,
                                        int wanted, cudaError_t status) {
  int device = 0, there = 0, major = 0, minor = 0;
  const bool is_told =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&there, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
          cudaSuccess &&
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
  if (!is_told || wanted <= there) return failed(call, kernel, status);
  char text[160];
  snprintf(text, sizeof text,
           "it needs %d bytes of shared memory, and this GPU has %d: compile the model for its "
           "architecture, sm_%d",
           wanted, there, 10 * major + minor);
  return failed(call, kernel, text);
}

// Params: of the kernel.
template <class Params>
int32_t launch(KernelCode& code, const tessera_call* call, Params params,
               const LaunchShape& shape) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(call->stream);
  config.attrs = attributes;
  if (shape.is_dependent) {
    cudaLaunchAttribute& early = attributes[config.numAttrs++];
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  if (const dim3& c = shape.cluster; c.x * c.y * c.z > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {c.x, c.y, c.z};
  }
  const void* kernel = nullptr;
  cudaError_t status = code.find(&kernel);
  if (status == cudaSuccess) {
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  shape.shared_bytes);
    if (status != cudaSuccess) {
      return failed_for_shared_memory(call, code, shape.shared_bytes, status);
    }
  }
  void* values[] = {&params};
  if (status == cudaSuccess) status = cudaLaunchKernelExC(&config, kernel, values);
  return status == cudaSuccess ? 0 : failed(call, code, status);
}

}  // namespace tessera::cutlass

// Defines the kernel NAME_kernel, and what stands for it, NAME_code. Entry: Params, kThreads of a
// block, kBlocks of a multiprocessor at least, and compute(), the code.
#define TESSERA_KERNEL_OF_DEVICE(name, Entry)                                   \
  extern "C" __global__ void __launch_bounds__(Entry::kThreads, Entry::kBlocks) \
      name##_kernel(const __grid_constant__ typename Entry::Params params) {    \
    extern __shared__ char shared[];                                            \
    Entry::compute(params, shared);                                             \
  }
#define TESSERA_FUNCTION_OF_HOST(name, Type, Arguments)                           \
  extern "C" int32_t name(const tessera_call* call, const Arguments* arguments) { \
    return Type::run(name##_code, call, *arguments);                              \
  }

// A kernel of that name and the function that launches it. Type: Entry, and run(), which is given
// the kernel, the call and Arguments.
#if defined(TESSERA_DEVICE_PASS)
#define TESSERA_KERNEL(name, Type, Arguments) TESSERA_KERNEL_OF_DEVICE(name, Type::Entry)
#elif defined(TESSERA_HOST_PASS)
#define TESSERA_KERNEL(name, Type, Arguments)                                            \
  extern "C" const unsigned char name##_image[];                                         \
  static tessera::cutlass::KernelCode name##_code(#name, #name "_kernel", name##_image); \
  TESSERA_FUNCTION_OF_HOST(name, Type, Arguments)
#else
#define TESSERA_KERNEL(name, Type, Arguments)                                                     \
  TESSERA_KERNEL_OF_DEVICE(name, Type::Entry)                                                     \
  static tessera::cutlass::KernelCode name##_code(#name,                                          \
                                                  reinterpret_cast<const void*>(&name##_kernel)); \
  TESSERA_FUNCTION_OF_HOST(name, Type, Arguments)
#endif
