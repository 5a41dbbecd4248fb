// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/products.h"

#include <cstdlib>

#include <cuda_runtime_api.h>

#include "runtime/cuda/check.h"

namespace tessera::runtime::cuda {

const char kFloat32Products[] = "tessera_float32_products";
const char kFloat16Products[] = "tessera_float16_products";

const char kProductsPtx[] =
#include "runtime/cuda/products.ptx"
    ;

namespace {

constexpr unsigned kThreads = 256, kWarp = 32, kBlocksOfProcessor = 8;
// Of a round: 32 multiply-adds of each thread, and 8 products of 16 x 8 x 16 of each warp.
constexpr std::uint64_t kFlopsOfThread = 64, kFlopsOfWarp = 32768;
constexpr std::uint32_t kFloat32Rounds = 2048, kFloat16Rounds = 2048;  // a millisecond or some

struct Products {
  cudaLibrary_t library = nullptr;
  cudaKernel_t of_float32 = nullptr, of_float16 = nullptr;
  int processors = 0;
};

std::int32_t load(Products& p, tessera_device_error* error) {
  constexpr const char* kWhat = "products cannot be measured";
  int device = 0;
  std::int32_t status = check(cudaGetDevice(&device), kWhat, error);
  if (status != TESSERA_OK) return status;
  status = check(cudaDeviceGetAttribute(&p.processors, cudaDevAttrMultiProcessorCount, device),
                 kWhat, error);
  if (status != TESSERA_OK) return status;
  status =
      check(cudaLibraryLoadData(&p.library, kProductsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
            kWhat, error);
  if (status != TESSERA_OK) return status;
  status = check(cudaLibraryGetKernel(&p.of_float32, p.library, kFloat32Products), kWhat, error);
  if (status != TESSERA_OK) return status;
  return check(cudaLibraryGetKernel(&p.of_float16, p.library, kFloat16Products), kWhat, error);
}

}  // namespace

std::int32_t create_products(void** products, tessera_device_error* error) {
  *products = nullptr;
  auto* p = static_cast<Products*>(std::calloc(1, sizeof(Products)));
  if (p == nullptr) return fail(error, TESSERA_OUT_OF_MEMORY, "out of host memory");
  const std::int32_t status = load(*p, error);
  if (status == TESSERA_OK) {
    *products = p;
  } else {
    destroy_products(p);
  }
  return status;
}

void destroy_products(void* products) {
  auto* p = static_cast<Products*>(products);
  if (p->library != nullptr) cudaLibraryUnload(p->library);
  std::free(p);
}

std::int32_t multiply(void* products, std::int32_t of_float16, void* stream, std::uint64_t* flops,
                      tessera_device_error* error) {
  const Products& p = *static_cast<const Products*>(products);
  std::uint32_t rounds = of_float16 != 0 ? kFloat16Rounds : kFloat32Rounds;
  void* nowhere = nullptr;
  void* arguments[] = {&rounds, &nowhere};
  const unsigned blocks = static_cast<unsigned>(p.processors) * kBlocksOfProcessor;
  const std::uint64_t threads = std::uint64_t{blocks} * kThreads;
  *flops = rounds * (of_float16 != 0 ? threads / kWarp * kFlopsOfWarp : threads * kFlopsOfThread);
  const cudaKernel_t kernel = of_float16 != 0 ? p.of_float16 : p.of_float32;
  return check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(kThreads),
                                arguments, 0, static_cast<cudaStream_t>(stream)),
               "products cannot be measured", error);
}

}  // namespace tessera::runtime::cuda
