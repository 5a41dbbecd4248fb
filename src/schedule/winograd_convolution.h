// SPDX-License-Identifier: Apache-2.0
// Convolutions that Winograd's algorithm can compute: which loops are whose.
#pragma once

#include <optional>
#include <span>

#include "schedule/contraction.h"
#include "schedule/winograd_transform.h"

namespace tessera::schedule {

// T[batch, out, row, column] = sum over in, 3 rows and 3 columns of d(batch, in, row + r, column +
// c) * w(out, in, r, c), summed in float32, in any order of loops and dimensions.
struct WinogradConvolution {
  std::vector<Loop> batch;
  Loop out, row, column, in;
  Loop window_row, window_column;
  tir::Expr data;       // d: a load, of float32 or of the floats of 16 bits that the weight has
  tir::Buffer weight;   // an input that every call gives a constant
  WeightPlaces places;  // of it
  Product product;      // the target, and what follows it

  // d at a place of the image, of the loops' image and channel.
  tir::Expr element(const tir::Expr& y, const tir::Expr& x) const;
};

// `nests[0]` must be the convolution.
std::optional<WinogradConvolution> recognise_winograd(std::span<const tir::Stmt> nests,
                                                      const Surroundings& around);

}  // namespace tessera::schedule
