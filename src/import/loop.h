// SPDX-License-Identifier: Apache-2.0
// A loop of ONNX on its way to a function that calls itself:
//
//   def @loop_0(%iteration, %condition, carried..., captured..., scan outputs...) {
//     if (%iteration < count and %condition) {
//       ...body...;
//       @loop_0(%iteration + 1, condition', carried'..., captured..., update_row(scan, row,
//       ...)...)
//     } else { (carried..., scan outputs...) }
//   }
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "import/call_builder.h"
#include "onnx.pb.h"

namespace tessera::import {

struct Loop {
  // A value by which the body knows it; "" where it does not. Ids are those of the function around.
  struct Named {
    std::string name;
    NodeId value;
  };
  // A scan input: the body sees one slice of it at a time.
  struct Slice {
    std::string name;          // of the slice
    std::size_t captured = 0;  // of what
    std::int64_t axis = 0;
    bool backward = false;
  };
  struct ScanOutput {
    std::string name;     // of the node's output
    std::size_t row = 0;  // which result of the body
    Dim rows = 0;         // `?`: known at run time
    Shape row_shape = {};
    bool grows = false;  // by a row an iteration; else it has all rows from the beginning
    bool backward = false;

    // Is a size of the rows known at run time only?
    bool has_open_row() const {
      return std::any_of(row_shape.begin(), row_shape.end(),
                         [](const Dim& d) { return d.is_unknown(); });
    }
  };

  const onnx::GraphProto* graph = nullptr;
  std::string iteration_name, condition_name;  // in the body; "" in a Scan
  NodeId condition;                            // at first
  bool tests_condition = false;                // may it be false?
  bool returns_condition = false;              // is it the body's first result?
  std::optional<std::size_t> limit;            // the captured value that bounds the iterations
  Dim trips = Dim::unknown();                  // what it is, where that is the size of something
  std::optional<std::int64_t> count;           // the number that does
  std::vector<Named> carried;                  // at first
  std::vector<Type> carried_types;             // in every iteration
  std::vector<Named> captured;
  std::vector<Slice> slices;
  std::vector<ScanOutput> scans;

  // (iteration, condition, carried..., captured...) -> (condition', carried'..., rows...)
  relay::Function body;
};

// The type of what is `first` before and `then` after an iteration: sizes that differ are `?`.
// Nothing if more than sizes differs.
inline std::optional<Type> type_in_loop(const Type& first, const Type& then) {
  if (first.dtype() != then.dtype() || first.rank() != then.rank()) return std::nullopt;
  Shape shape = first.shape();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!(shape[d] == then.shape()[d])) shape[d] = Dim::unknown();
  }
  return tensor_type(std::move(shape), first.dtype());
}

}  // namespace tessera::import
