// SPDX-License-Identifier: Apache-2.0
// The device table of CUDA. The CUDA runtime is linked in; it opens the driver when it is first
// asked for something.
#include "runtime/device.h"

#include <cinttypes>
#include <cstdint>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include "runtime/cuda/check.h"
#include "runtime/cuda/products.h"
#include "runtime/device_arch.h"
#include "runtime/visible_devices.h"

namespace {

using tessera::runtime::cuda::check;
using tessera::runtime::cuda::fail;

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

// Why there is no device: no driver, one that is too old, no GPU, or none that may be seen.
std::int32_t fail_without_device(cudaError_t status, tessera_device_error* error) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  if (driver == nullptr) {
    return fail(error, TESSERA_WRONG_MACHINE,
                "there is no NVIDIA driver on this machine (`libcuda.so.1` was not found): install "
                "the driver, or compile the model for the cpu");
  }
  dlclose(driver);
  if (status == cudaErrorInsufficientDriver) {
    int needed = 0;
    cudaRuntimeGetVersion(&needed);
    return fail(error, TESSERA_WRONG_MACHINE,
                "the NVIDIA driver is older than the library, which needs one for CUDA %d.%d",
                needed / 1000, needed % 1000 / 10);
  }
  if (status == cudaSuccess || status == cudaErrorNoDevice) {
    if (const char* shown = tessera::runtime::visible_devices()) {
      return fail(error, TESSERA_WRONG_MACHINE, tessera::runtime::kNoneVisible, shown);
    }
    return fail(error, TESSERA_WRONG_MACHINE, "there is no NVIDIA GPU on this machine");
  }
  return fail(error, TESSERA_WRONG_MACHINE, "the GPU cannot be used: %s",
              cudaGetErrorString(status));
}

std::int32_t open_device(std::int32_t id, const char* arch, tessera_device_error* error) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) return fail_without_device(status, error);
  if (id < 0 || id >= count) {
    if (tessera::runtime::visible_devices() != nullptr) {
      return fail(error, TESSERA_WRONG_MACHINE,
                  "there is no GPU %d: of this machine's, CUDA_VISIBLE_DEVICES shows %d", id,
                  count);
    }
    return fail(error, TESSERA_WRONG_MACHINE, "there is no GPU %d: this machine has %d", id, count);
  }
  cudaDeviceProp properties;
  if (std::int32_t failed =
          check(cudaGetDeviceProperties(&properties, id), "the GPU cannot be asked", error)) {
    return failed;
  }
  if (tessera::runtime::runs_on(arch, properties.major, properties.minor)) return TESSERA_OK;
  const int number = properties.major * 10 + properties.minor;
  return fail(error, TESSERA_WRONG_MACHINE,
              "the model was compiled for GPUs of architecture %s, and this one, %s, is sm_%d: "
              "compile it with `--target \"cuda -arch=sm_%d%s\"`",
              arch, properties.name, number, number, tessera::runtime::arch_suffix(number));
}

std::int32_t enter(std::int32_t id, std::int32_t* previous, tessera_device_error* error) {
  if (cudaGetDevice(previous) != cudaSuccess) *previous = id;
  return *previous == id ? TESSERA_OK : check(cudaSetDevice(id), "the GPU cannot be chosen", error);
}
void leave(std::int32_t previous) {
  int now = 0;
  if (cudaGetDevice(&now) == cudaSuccess && now != previous) cudaSetDevice(previous);
}

std::int32_t fail_out_of_memory(const char* kind, std::uint64_t asked, std::uint64_t unused,
                                std::uint64_t all, tessera_device_error* error) {
  return fail(error, TESSERA_OUT_OF_MEMORY,
              "out of %s memory: %" PRIu64 " bytes were asked for, %" PRIu64 " of %" PRIu64
              " are free",
              kind, asked, unused, all);
}

std::int32_t allocate(std::uint64_t bytes, void** memory, tessera_device_error* error) {
  const cudaError_t status = cudaMalloc(memory, bytes);
  if (status == cudaSuccess) return TESSERA_OK;
  *memory = nullptr;
  cudaGetLastError();
  std::size_t unused = 0, all = 0;
  if (status != cudaErrorMemoryAllocation || cudaMemGetInfo(&unused, &all) != cudaSuccess) {
    return check(status, "device memory cannot be had", error);
  }
  return fail_out_of_memory("device", bytes, unused, all, error);
}
void release(void* memory) { cudaFree(memory); }

std::int32_t allocate_host(std::uint64_t bytes, void** memory, tessera_device_error* error) {
  const cudaError_t status = cudaMallocHost(memory, bytes);
  if (status == cudaSuccess) return TESSERA_OK;
  *memory = nullptr;
  cudaGetLastError();
  if (status != cudaErrorMemoryAllocation) {
    return check(status, "pinned host memory cannot be had", error);
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto unused = static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES));
  const auto all = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  return fail_out_of_memory("pinned host", bytes, unused * page, all * page, error);
}
void release_host(void* memory) { cudaFreeHost(memory); }

tessera_device place_of(const void* memory) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    cudaGetLastError();
    return {TESSERA_CPU, 0};
  }
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      return {TESSERA_CUDA, attributes.device};
    case cudaMemoryTypeManaged: {  // of any GPU
      int now = attributes.device;
      cudaGetDevice(&now);
      return {TESSERA_CUDA, now};
    }
    case cudaMemoryTypeHost:
      return {TESSERA_CUDA_HOST, attributes.device};
    default:
      return {TESSERA_CPU, 0};
  }
}

std::int32_t create_stream(void** stream, tessera_device_error* error) {
  cudaStream_t created = nullptr;
  const std::int32_t status = check(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking),
                                    "a stream cannot be made", error);
  *stream = created;
  return status;
}
void destroy_stream(void* stream) { cudaStreamDestroy(stream_of(stream)); }

std::int32_t copy(void* to, const void* from, std::uint64_t bytes, void* stream,
                  tessera_device_error* error) {
  return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)),
               "memory cannot be copied", error);
}
std::int32_t synchronize(void* stream, tessera_device_error* error) {
  return check(cudaStreamSynchronize(stream_of(stream)), "the GPU reports", error);
}

std::int32_t create_event(void** event, tessera_device_error* error) {
  cudaEvent_t created = nullptr;
  const std::int32_t status = check(cudaEventCreate(&created), "an event cannot be made", error);
  *event = created;
  return status;
}
void destroy_event(void* event) { cudaEventDestroy(event_of(event)); }
// What a caller's stream is first used for.
std::int32_t check_stream(cudaError_t status, tessera_device_error* error) {
  if (status != cudaErrorInvalidResourceHandle) {
    return check(status, "the stream cannot be used", error);
  }
  cudaGetLastError();
  int now = 0;
  cudaGetDevice(&now);
  return fail(error, TESSERA_INVALID_ARGUMENT,
              "the stream cannot be used: it is of another GPU, or has been destroyed: give one of "
              "GPU %d",
              now);
}
std::int32_t record_event(void* event, void* stream, tessera_device_error* error) {
  return check_stream(cudaEventRecord(event_of(event), stream_of(stream)), error);
}
std::int32_t wait_event(void* event, void* stream, tessera_device_error* error) {
  return check_stream(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0), error);
}
std::int32_t synchronize_event(void* event, tessera_device_error* error) {
  return check(cudaEventSynchronize(event_of(event)), "the GPU reports", error);
}
std::int32_t elapsed_ns(void* begin, void* end, std::uint64_t* ns, tessera_device_error* error) {
  float ms = 0;
  const std::int32_t status = check(cudaEventElapsedTime(&ms, event_of(begin), event_of(end)),
                                    "the time cannot be taken", error);
  *ns = static_cast<std::uint64_t>(static_cast<double>(ms) * 1e6);
  return status;
}

std::int32_t is_capturing(void* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream_of(stream), &status) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return status != cudaStreamCaptureStatusNone ? 1 : 0;
}
std::int32_t begin_capture(void* stream, tessera_device_error* error) {
  return check(cudaStreamBeginCapture(stream_of(stream), cudaStreamCaptureModeThreadLocal),
               "the run cannot be recorded", error);
}
std::int32_t end_capture(void* stream, void** graph, tessera_device_error* error) {
  *graph = nullptr;
  cudaGraph_t recorded = nullptr;
  if (std::int32_t status = check(cudaStreamEndCapture(stream_of(stream), &recorded),
                                  "the run cannot be recorded", error)) {
    return status;
  }
  cudaGraphExec_t ready = nullptr;
  const std::int32_t status =
      check(cudaGraphInstantiate(&ready, recorded, 0), "the run cannot be replayed", error);
  cudaGraphDestroy(recorded);
  *graph = ready;
  return status;
}
std::int32_t launch_graph(void* graph, void* stream, tessera_device_error* error) {
  return check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), stream_of(stream)),
               "the run cannot be replayed", error);
}
void destroy_graph(void* graph) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }

}  // namespace

extern "C" {
extern const tessera_device_api tessera_cuda_device;
const tessera_device_api tessera_cuda_device = {
    open_device,
    enter,
    leave,
    allocate,
    release,
    allocate_host,
    release_host,
    place_of,
    create_stream,
    destroy_stream,
    copy,
    synchronize,
    create_event,
    destroy_event,
    record_event,
    wait_event,
    synchronize_event,
    elapsed_ns,
    is_capturing,
    begin_capture,
    end_capture,
    launch_graph,
    destroy_graph,
    tessera::runtime::cuda::create_products,
    tessera::runtime::cuda::destroy_products,
    tessera::runtime::cuda::multiply,
};
}
