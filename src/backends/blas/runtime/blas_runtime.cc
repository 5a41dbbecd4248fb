// SPDX-License-Identifier: Apache-2.0
#include "backends/blas/runtime/blas_runtime.h"

#include <cblas.h>

#include "runtime/back_end_state.h"

namespace {

constexpr const char* kLibraryFile = "libopenblas.so.0";
constexpr int kOpenMp = 2;  // openblas_get_parallel(): 0 sequential, 1 own threads, 2 OpenMP

struct Library {
  decltype(&::cblas_sgemm) sgemm;
  decltype(&::cblas_dgemm) dgemm;
};

const char* data_of(const tessera_tensor& t) {
  return static_cast<const char*>(t.data) + t.byte_offset;
}

template <class T, class Gemm>
void run(Gemm gemm, tessera_tensor** tensors, const tessera_blas_product& p) {
  const auto* a = reinterpret_cast<const T*>(data_of(*tensors[0]));
  const auto* b = reinterpret_cast<const T*>(data_of(*tensors[1]));
  auto* c = const_cast<T*>(reinterpret_cast<const T*>(data_of(*tensors[2])));
  const auto trans_a = p.transpose_a != 0 ? CblasTrans : CblasNoTrans;
  const auto trans_b = p.transpose_b != 0 ? CblasTrans : CblasNoTrans;
  const int lda = p.transpose_a != 0 ? p.m : p.k, ldb = p.transpose_b != 0 ? p.k : p.n;
  for (std::int64_t i = 0; i < p.batch; ++i) {
    gemm(CblasRowMajor, trans_a, trans_b, p.m, p.n, p.k, static_cast<T>(p.alpha),
         a + i * p.stride_a, lda, b + i * p.stride_b, ldb, T{0},
         c + i * static_cast<std::int64_t>(p.m) * p.n, p.n);
  }
}

}  // namespace

int32_t tessera_blas_create_library(const tessera_state_args* args, void** state) {
  void* library = tessera_vendor_library(args, kLibraryFile);
  if (library == nullptr) return 1;
  const auto find = [&](const char* name) { return tessera_vendor_symbol(args, library, name); };
  const auto sgemm = reinterpret_cast<decltype(&::cblas_sgemm)>(find("cblas_sgemm"));
  const auto dgemm = reinterpret_cast<decltype(&::cblas_dgemm)>(find("cblas_dgemm"));
  const auto parallel =
      reinterpret_cast<decltype(&::openblas_get_parallel)>(find("openblas_get_parallel"));
  const auto set_threads =
      reinterpret_cast<decltype(&::openblas_set_num_threads)>(find("openblas_set_num_threads"));
  if (sgemm == nullptr || dgemm == nullptr || parallel == nullptr || set_threads == nullptr)
    return 1;
  // Threads of its own would fight with libgomp's over the CPUs.
  if (parallel() != kOpenMp) set_threads(1);
  auto* made = tessera::runtime::create<Library>();
  if (made == nullptr) return tessera::runtime::out_of_memory(args);
  *made = {sgemm, dgemm};
  *state = made;
  return 0;
}

void tessera_blas_destroy_library(void* state) {
  tessera::runtime::destroy(static_cast<Library*>(state));
}

int32_t tessera_blas_gemm(const tessera_call* call, tessera_tensor** tensors,
                          const tessera_blas_product* product) {
  const auto& library = *static_cast<const Library*>(call->states->library);
  if (product->bits == 64) {
    run<double>(library.dgemm, tensors, *product);
  } else {
    run<float>(library.sgemm, tensors, *product);
  }
  return 0;
}
