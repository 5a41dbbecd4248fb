// SPDX-License-Identifier: Apache-2.0
// Indices of ONNX's gathering and scattering operators: in [-n, n) along an axis of n elements. One
// outside ends the run, or the import where it is known. And lists of axes and bounds.
#pragma once

#include "import/value.h"

namespace tessera::import {

// The indices for a taker of `data`, all along one axis, or those of slice k of the first dimension
// along axis k of the list. Constant ones are checked here, others in the run, unless a pass finds
// that they need no check.
NodeId checked_indices(Node& n, NodeId indices, NodeId data, const Ints& axes);

// The same for tuples, one a column of the first dimension, that index the dimensions of `data`
// from `first` on.
NodeId checked_tuples(Node& n, NodeId tuples, NodeId data, std::int64_t first);

// Elements of a dimension of x at `indices`, which negative ones count from its end.
Value take_checked(Value x, NodeId indices, std::int64_t axis);

// An input of one number for each axis or bound: an error unless it has one dimension.
Value list_input(Node& n, std::size_t i);

}  // namespace tessera::import
