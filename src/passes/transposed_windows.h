// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions as convolutions: which elements of the kernel make which results.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "types/dim.h"

namespace tessera::passes {

// Of stride s, every s-th result along a dimension is made by the same elements of the kernel, and
// results have s phases. Neighbouring phases whose windows have the same size and lie at the same
// places of the data are one convolution.
struct PhaseRun {
  std::int64_t phases, taps;           // of the kernel for each of the phases
  std::vector<std::int64_t> elements;  // of the kernel: for each phase, in the data's order
  std::int64_t pad_begin, pad_end;     // of the data
};

// One spatial dimension. All runs give as many places.
struct TransposedAxis {
  std::int64_t kernel, stride, dilation;
  std::vector<PhaseRun> runs;
  std::int64_t empty;         // phases at the end without any element of the kernel
  std::int64_t skipped, cut;  // of what the phases make, side by side, before and after

  // A convolution of the fewest data must have room for a window, too: more places where it has
  // none, which nobody wants.
  void make_room(std::int64_t fewest);
  // The size of the result, in the form that strided_slice gives it: one that is open may take
  // another, in which nobody knows it again.
  Dim size(const Dim& data) const;
};

struct TransposedWindow {
  std::int64_t kernel, stride, dilation, pad_begin, pad_end, output_padding;
};
// Nothing where stride and dilation have a factor in common, or phases without elements of the
// kernel lie between others.
std::optional<TransposedAxis> transposed_axis(const TransposedWindow& w);

}  // namespace tessera::passes
