// SPDX-License-Identifier: Apache-2.0
// The table of CUDA with a CUDA runtime whose GPUs' memory is the host's: what users are told when
// there is too little of it, or when streams, pointers or the GPU are not those that are due.
#include "runtime/device.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "runtime/cuda/products.h"
#include "runtime/program_fixture.h"

namespace {

struct Piece {
  cudaMemoryType type;
  int device;
  std::size_t bytes;
};

// GPUs of compute capability 9.0, unless said otherwise, with a mebibyte that they share.
struct Gpus {
  int count = 1, now = 0, major = 9, minor = 0;
  std::size_t free = 1 << 20, total = 1 << 20;
  int refused = -1;  // the allocation, counted from 0, that finds no memory
  int allocations = 0;
  int code = 0;              // pieces that are loaded
  std::uint64_t rounds = 0;  // of products
  std::map<const void*, Piece> pieces;
  std::map<const void*, int> streams, events;  // with the GPU that was current
} gpus;

cudaError_t take(void** memory, std::size_t bytes, cudaMemoryType type) {
  if (gpus.allocations++ == gpus.refused || bytes > gpus.free) return cudaErrorMemoryAllocation;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  gpus.pieces[*memory] = {type, gpus.now, bytes};
  gpus.free -= bytes;
  return cudaSuccess;
}
cudaError_t give_back(void* memory) {
  const auto it = gpus.pieces.find(memory);
  if (it == gpus.pieces.end()) return cudaErrorInvalidValue;
  gpus.free += it->second.bytes;
  gpus.pieces.erase(it);
  std::free(memory);
  return cudaSuccess;
}

template <class Handle>
cudaError_t make(Handle* handle, std::map<const void*, int>& of) {
  void* made = std::malloc(1);
  of[made] = gpus.now;
  *handle = static_cast<Handle>(made);
  return cudaSuccess;
}
template <class Handle>
cudaError_t destroy(Handle handle, std::map<const void*, int>& of) {
  if (of.erase(handle) == 0) return cudaErrorInvalidResourceHandle;
  std::free(handle);
  return cudaSuccess;
}

// The default stream is of the current GPU.
cudaError_t check_stream(cudaStream_t stream) {
  return stream == nullptr || gpus.streams.contains(stream) ? cudaSuccess
                                                            : cudaErrorInvalidResourceHandle;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpus.count;
  return gpus.count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  properties->major = gpus.major;
  properties->minor = gpus.minor;
  std::strcpy(properties->name, "Imagined GPU");
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = gpus.now;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpus.count) return cudaErrorInvalidDevice;
  gpus.now = device;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "another error";
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return take(memory, bytes, cudaMemoryTypeDevice);
}
cudaError_t cudaFree(void* memory) { return give_back(memory); }
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return take(memory, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaFreeHost(void* memory) { return give_back(memory); }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = gpus.free;
  *total = gpus.total;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  const auto it = gpus.pieces.find(memory);
  const bool known = it != gpus.pieces.end();
  attributes->type = known ? it->second.type : cudaMemoryTypeUnregistered;
  attributes->device = known ? it->second.device : 0;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return make(reinterpret_cast<void**>(stream), gpus.streams);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return destroy(static_cast<void*>(stream), gpus.streams);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  std::memcpy(to, from, bytes);
  return check_stream(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return check_stream(stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t, unsigned) {
  return check_stream(stream);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return make(reinterpret_cast<void**>(event), gpus.events);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return destroy(static_cast<void*>(event), gpus.events);
}
// An event and the stream that it is recorded in are of one GPU.
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t status = check_stream(stream)) return status;
  const int device = stream == nullptr ? gpus.now : gpus.streams.at(stream);
  return gpus.events.at(event) == device ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 1;
  return cudaSuccess;
}

// Nothing is recorded.
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return check_stream(stream);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return cudaErrorNotSupported;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) { return cudaErrorNotSupported; }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
  return cudaErrorNotSupported;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaErrorNotSupported; }

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 100;
  return cudaSuccess;
}
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void*, cudaJitOption*, void**,
                                unsigned, cudaLibraryOption*, void**, unsigned) {
  ++gpus.code;
  *library = reinterpret_cast<cudaLibrary_t>(&gpus);
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t) {
  --gpus.code;
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t, const char* name) {
  *kernel = nullptr;
  return std::strstr(tessera::runtime::cuda::kProductsPtx, name) != nullptr ? cudaSuccess
                                                                            : cudaErrorInvalidValue;
}
cudaError_t cudaLaunchKernel(const void*, dim3 grid, dim3, void** arguments, std::size_t,
                             cudaStream_t stream) {
  gpus.rounds += grid.x * *static_cast<const std::uint32_t*>(arguments[0]);
  return check_stream(stream);
}

extern const tessera_device_api tessera_cuda_device;
}

namespace tessera::runtime {
namespace {

class CudaDevice : public ::testing::Test, public ProgramFixture {
 protected:
  CudaDevice() {
    gpus = {};
    program.device_api = &tessera_cuda_device;
    program.device_arch = "sm_90a";
    program.device = pool.device = {TESSERA_CUDA, 0};
    EXPECT_EQ(tessera_model_create_from(&program, {}, nullptr, &model_), TESSERA_OK);
  }
  ~CudaDevice() override {
    destroy_instance();
    tessera_model_destroy(model_);
    EXPECT_TRUE(gpus.pieces.empty());
    EXPECT_TRUE(gpus.streams.empty());
    EXPECT_TRUE(gpus.events.empty());
    EXPECT_EQ(gpus.code, 0);
    EXPECT_EQ(gpus.free, gpus.total);
  }

  std::int32_t create(tessera_device on = {}) {
    tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
    options.device = on;
    return tessera_instance_create(model_, &options, &instance_);
  }
  void destroy_instance() {
    tessera_instance_destroy(instance_);
    instance_ = nullptr;
  }
  std::int32_t run() {
    float y[6] = {};
    for (tessera_tensor& out : out_) out = {};
    out_[0] = {y, {TESSERA_CPU, 0}, 2, kFloat32, shape_, nullptr, 0};
    const std::int32_t status = tessera_instance_run(instance_, &in_, 1, out_, 2);
    if (status != TESSERA_OK) return status;
    EXPECT_EQ(y[5], 126);
    return TESSERA_OK;
  }
  std::int32_t run_on_stream(cudaStream_t stream) {
    for (tessera_tensor& out : out_) out = {};
    return tessera_instance_run_on_stream(instance_, stream, &in_, 1, out_, 2);
  }
  // Where `bytes` more are asked for than there are.
  std::string create_with(std::size_t free) {
    gpus.total = gpus.free = free;
    EXPECT_EQ(create(), TESSERA_OUT_OF_MEMORY);
    EXPECT_EQ(gpus.free, gpus.total);
    return tessera_last_error();
  }

  tessera_model* model_ = nullptr;
  tessera_instance* instance_ = nullptr;
  alignas(64) float x_[6] = {10, 20, 30, 40, 50, 60};
  std::int64_t shape_[2] = {2, 3};
  tessera_tensor in_ = {x_, {TESSERA_CPU, 0}, 2, kFloat32, shape_, nullptr, 0};
  tessera_tensor out_[2] = {};
};

// An instance has flags of 128 bytes, an arena of 1000 and a workspace of 24; then come 24 bytes of
// constants.
TEST_F(CudaDevice, WhatDoesNotFitIsSaidWithItsBytes) {
  EXPECT_EQ(create_with(1000),
            "memory for arena: out of device memory: 1000 bytes were asked for, 872 of 1000 are "
            "free");
  EXPECT_EQ(create_with(1144),
            "memory for the workspace: out of device memory: 24 bytes were asked for, 16 of 1144 "
            "are free");
  EXPECT_EQ(create_with(1164),
            "memory for the model's constants: out of device memory: 24 bytes were asked for, 12 "
            "of 1164 are free");
  const std::string pinned = create_with(60);
  EXPECT_TRUE(
      std::regex_match(pinned, std::regex("memory for a flag: out of pinned host memory: 128 bytes "
                                          "were asked for, [0-9]+ of [0-9]+ are free")))
      << pinned;
  gpus.total = gpus.free = 1 << 20;
  ASSERT_EQ(create(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(run(), TESSERA_OK) << tessera_last_error();
}

TEST_F(CudaDevice, ARunThatFindsNoMemoryLeavesTheInstanceAsItWas) {
  ASSERT_EQ(create(), TESSERA_OK) << tessera_last_error();
  std::vector<std::string> said;
  gpus.refused = gpus.allocations;
  for (; run() != TESSERA_OK; gpus.refused = gpus.allocations + 1) {  // each gets one further
    const std::string error = tessera_last_error();
    said.push_back(error.substr(0, error.find(" bytes")));
    ASSERT_LT(said.size(), 10u);
  }
  EXPECT_EQ(said, (std::vector<std::string>{
                      "memory for input `x`: out of device memory: 24",
                      "memory for staging of input `x`: out of pinned host memory: 24",
                      "memory for output `y`: out of device memory: 24",
                      "memory for output `run`: out of device memory: 8",
                      "memory for output `run`: out of pinned host memory: 8",
                      "memory for staging of output `y`: out of pinned host memory: 24"}));
  gpus.refused = gpus.allocations;  // steady runs ask for nothing
  EXPECT_EQ(run(), TESSERA_OK) << tessera_last_error();
}

TEST_F(CudaDevice, NothingIsLeftWhicheverAllocationFails) {
  int failures = 0;
  for (gpus.refused = 0;; ++gpus.refused) {
    gpus.allocations = 0;
    if (create() == TESSERA_OK && run() == TESSERA_OK) break;
    ++failures;
    EXPECT_NE(std::strstr(tessera_last_error(), " bytes were asked for, "), nullptr)
        << tessera_last_error();
    destroy_instance();
    // Constants that have been uploaded stay with the model.
    EXPECT_LE(gpus.pieces.size(), 1u);
    EXPECT_TRUE(gpus.streams.empty());
    EXPECT_TRUE(gpus.events.empty());
    ASSERT_LT(failures, 20);
  }
  EXPECT_EQ(failures, 9);
}

TEST_F(CudaDevice, AnotherGpuIsRefused) {
  ASSERT_EQ(create({TESSERA_CUDA, 3}), TESSERA_WRONG_MACHINE);
  EXPECT_STREQ(tessera_last_error(), "there is no GPU 3: this machine has 1");
  ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "2", 1), 0);
  EXPECT_EQ(create({TESSERA_CUDA, 3}), TESSERA_WRONG_MACHINE);
  EXPECT_STREQ(tessera_last_error(),
               "there is no GPU 3: of this machine's, CUDA_VISIBLE_DEVICES shows 1");
  unsetenv("CUDA_VISIBLE_DEVICES");
  gpus.major = 8;
  ASSERT_EQ(create(), TESSERA_WRONG_MACHINE);
  EXPECT_STREQ(tessera_last_error(),
               "the model was compiled for GPUs of architecture sm_90a, and this one, Imagined "
               "GPU, is sm_80: compile it with `--target \"cuda -arch=sm_80\"`");
  program.device_arch = "sm_100";
  gpus.major = 9;
  ASSERT_EQ(create(), TESSERA_WRONG_MACHINE);
  EXPECT_STREQ(tessera_last_error(),
               "the model was compiled for GPUs of architecture sm_100, and this one, Imagined "
               "GPU, is sm_90: compile it with `--target \"cuda -arch=sm_90a\"`");
}

TEST_F(CudaDevice, AStreamOfAnotherGpuOrThatIsGoneIsRefused) {
  gpus.count = 2;
  ASSERT_EQ(create(), TESSERA_OK) << tessera_last_error();
  void* x = nullptr;
  ASSERT_EQ(cudaMalloc(&x, sizeof x_), cudaSuccess);
  std::memcpy(x, x_, sizeof x_);
  in_.data = x;
  in_.device = {TESSERA_CUDA, 0};
  cudaStream_t good, gone, others;
  cudaStreamCreateWithFlags(&good, 0);
  cudaStreamCreateWithFlags(&gone, 0);
  cudaSetDevice(1);
  cudaStreamCreateWithFlags(&others, 0);
  cudaSetDevice(0);
  cudaStreamDestroy(gone);
  for (int i = 0; i < 2; ++i) {  // the first run waits for nothing
    for (cudaStream_t wrong : {gone, others}) {
      ASSERT_EQ(run_on_stream(wrong), TESSERA_INVALID_ARGUMENT);
      EXPECT_STREQ(tessera_last_error(),
                   "the stream cannot be used: it is of another GPU, or has been destroyed: give "
                   "one of GPU 0");
    }
    ASSERT_EQ(run_on_stream(good), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 126);
  }
  destroy_instance();
  cudaStreamDestroy(good);
  cudaStreamDestroy(others);
  cudaFree(x);
}

// A GPU that does everything in a millisecond.
TEST_F(CudaDevice, RatesCountWhatIsPutIntoTheStream) {
  ASSERT_EQ(create(), TESSERA_OK) << tessera_last_error();
  tessera_rates rates = TESSERA_RATES_INIT;
  ASSERT_EQ(tessera_instance_rates(instance_, &rates), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(rates.bytes_per_second, 1e3 * (1 << 19));  // of a mebibyte the instance has some
  // 800 blocks of 256 threads, 32 multiply-adds in each of 2048 rounds; or of 8 warps, 8 products
  // of 16 x 8 x 16.
  EXPECT_EQ(rates.float32_flops_per_second, 1e3 * 800 * 256 * 32 * 2048 * 2);
  EXPECT_EQ(rates.float16_flops_per_second, 1e3 * 800 * 8 * 8 * 2048 * 16 * 8 * 16 * 2);
  EXPECT_EQ(gpus.rounds, 6u * 800 * (2048 + 2048));  // the first of six is not counted
}

TEST_F(CudaDevice, PointersAreWhereTheyAreSaidToBe) {
  gpus.count = 2;
  ASSERT_EQ(create(), TESSERA_OK) << tessera_last_error();
  in_.device = {TESSERA_CUDA, 0};
  ASSERT_EQ(run_on_stream(nullptr), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "input `x` is said to be on the device, but its data are in host memory: set "
               "`device` of the tensor");
  cudaSetDevice(1);
  void* x = nullptr;
  ASSERT_EQ(cudaMalloc(&x, sizeof x_), cudaSuccess);
  cudaSetDevice(0);
  std::memcpy(x, x_, sizeof x_);
  in_.data = x;
  ASSERT_EQ(run_on_stream(nullptr), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "input `x` is said to be on the instance's device, 0, but its data are on device 1");
  gpus.pieces[x].type = cudaMemoryTypeManaged;  // each GPU can read that
  EXPECT_EQ(run_on_stream(nullptr), TESSERA_OK) << tessera_last_error();
  cudaFree(x);
}

}  // namespace
}  // namespace tessera::runtime
