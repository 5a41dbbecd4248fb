// SPDX-License-Identifier: Apache-2.0
// What a measuring program (measure_attention.cuh) is told about the attention and the kernels that
// it is linked with: see measure_gemm.h.
#pragma once

#include "backends/cutlass/kernels/attention.h"

namespace tessera::cutlass {

// Where in memory a tensor begins: those of one number share it, as packed ones do.
struct MeasuredPlace {
  int32_t memory;
  int64_t offset;  // in elements
};

struct MeasuredAttentionCandidate {
  AttentionFunction* kernel;
  int32_t dependent;
  int64_t workspace_bytes;
};

}  // namespace tessera::cutlass

extern "C" {
// Sizes and strides; data and the launch are filled in.
extern const tessera::cutlass::AttentionArguments tessera_measured_attention;
extern const tessera::cutlass::MeasuredPlace tessera_measured_places[3];  // of Q, K, V
extern const tessera::cutlass::MeasuredAttentionCandidate tessera_measured_candidates[];
extern const int32_t tessera_measured_candidate_count;
}
