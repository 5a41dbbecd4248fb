// SPDX-License-Identifier: Apache-2.0
// Kernels at sizes of nothing, which only a run knows: zeros stand for what is not there.
#include "backends/onednn/runtime/plan.h"

namespace tessera::backends::onednn {

// Zeros that stand for nothing are not shifted.
void Plan::without_zero_point(KernelSpec* spec) {
  const std::int32_t zero_point = spec->find(Role::kZeroPoint);
  if (zero_point >= 0) spec->operands[zero_point].become_zeros();
}

// A product that sums over nothing, as sizes can have it that only the run knows, is 0 with all
// that follows; oneDNN would write nothing at all. It sums over one zero instead.
void Plan::without_empty_sum(KernelSpec* spec) {
  const std::int32_t source = spec->find(Role::kSource), weights = spec->find(Role::kWeights);
  OperandSpec &a = spec->operands[source], &b = spec->operands[weights];
  if (a.dims.count < 2 || a.dims.at[a.dims.count - 1] != 0) return;
  a.dims.at[a.dims.count - 1] = b.dims.at[b.dims.count - 2] = 1;
  a.become_zeros();
  b.become_zeros();
  without_zero_point(spec);
}

// Likewise a convolution without channels, or over borders alone: one zero takes the place of the
// channels of a group, and that of one element of the border; or transposed, that of an element
// whose place is cut off.
void Plan::without_empty_source(KernelSpec* spec) {
  OperandSpec& source = spec->operands[spec->find(Role::kSource)];
  OperandSpec& weights = spec->operands[spec->find(Role::kWeights)];
  if (!source.dims.is_empty()) return;
  const std::int32_t spatial = source.dims.count - 2;
  if (source.dims.at[1] == 0) {
    const bool is_grouped = weights.dims.count > source.dims.count;
    source.dims.at[1] = is_grouped ? weights.dims.at[0] : 1;
    weights.dims.at[weights.dims.count - spatial - 1] = 1;
    weights.become_zeros();
  }
  for (std::int32_t d = 0; d < spatial; ++d) {
    if (source.dims.at[2 + d] != 0) continue;
    source.dims.at[2 + d] = 1;
    if (spec->kind == KernelKind::kDeconvolution) {
      spec->padding_end.at[d] += spec->strides.at[d];
      continue;
    }
    --(spec->padding_end.at[d] > 0 ? spec->padding_end : spec->padding_begin).at[d];
  }
  source.become_zeros();
  without_zero_point(spec);
}

}  // namespace tessera::backends::onednn
