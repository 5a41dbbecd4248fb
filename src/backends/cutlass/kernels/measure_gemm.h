// SPDX-License-Identifier: Apache-2.0
// What a measuring program (measure_gemm.cuh) is told about the product and the kernels that it is
// linked with, by a source of its own: the program is compiled once for products of all sizes.
#pragma once

#include "backends/cutlass/kernels/gemm.h"

namespace tessera::cutlass {

struct MeasuredCandidate {
  GemmFunction* kernel;
  // As in GemmArguments.
  int32_t swizzle, raster_along_m, dependent, splits;
  int64_t workspace_bytes;  // as in tessera_call
};

}  // namespace tessera::cutlass

extern "C" {
// Sizes and strides; data and the launch are filled in.
extern const tessera::cutlass::GemmArguments tessera_measured_product;
extern const tessera::cutlass::MeasuredCandidate tessera_measured_candidates[];
extern const int32_t tessera_measured_candidate_count;
}
