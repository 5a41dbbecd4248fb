/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products over CBLAS. Generated sources call tessera_blas_gemm; link/ carries the archive.
 */
#ifndef TESSERA_BLAS_RUNTIME_H_
#define TESSERA_BLAS_RUNTIME_H_

#include "tessera/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* c[i] = alpha * a[i] b[i] for i < batch: row-major, m x k times k x n; a stride of 0 repeats a
   factor. Transposed factors are stored the other way round. */
typedef struct tessera_blas_product {
  int32_t bits; /* 32 or 64: of a float */
  int32_t transpose_a, transpose_b;
  int32_t m, n, k;
  int64_t batch, stride_a, stride_b;
  double alpha;
} tessera_blas_product;

/* tensors: a, b, c. */
int32_t tessera_blas_gemm(const tessera_call* call, tessera_tensor** tensors,
                          const tessera_blas_product* product);

int32_t tessera_blas_create_library(const tessera_state_args* args, void** state);
void tessera_blas_destroy_library(void* state);

#ifdef __cplusplus
}
#endif

#endif
