// SPDX-License-Identifier: Apache-2.0
// What a composite computes behind its product, as a function of one element: any graph of
// element-wise operators, made into text for kernels/elementwise.cuh.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relay/function.h"
#include "relay/pattern_table.h"

namespace tessera {
class ConstantPool;
}

namespace tessera::backends::cutlass {

enum class InputKind : std::uint8_t { kRow, kColumn, kFull, kScalar };

// A value that the function reads beside the product's element.
struct EpilogueInput {
  relay::NodeId node;
  InputKind kind = InputKind::kFull;
  DType dtype;
  bool is_batched = false;  // each matrix of the batch has its own
};

struct Epilogue {
  std::vector<EpilogueInput> inputs;  // x0, x1, ... of the text
  std::string body;                   // statements, one a line; empty: nothing is computed
  std::string result = "sum";         // an expression
  DType sum_dtype = kFloat32;         // of what the product gives: or int32
  DType product_dtype;                // of the product in the graph
  DType dtype;                        // of the result
};

// The nodes of a composite, ascending, with the product among them.
struct Composite {
  const relay::Function* function = nullptr;
  const ConstantPool* pool = nullptr;
  std::vector<relay::NodeId> inside;
  relay::NodeId product, root;
};

// That of a region's function, which is a call of one; its product is not looked for.
Expected<Composite, relay::Refusal> composite_of(const relay::Function& region,
                                                 const ConstantPool& pool);

// `rows_of_batch`: batch and rows are one dimension, and an input must fit that.
Expected<Epilogue, relay::Refusal> describe_epilogue(const Composite& composite,
                                                     bool rows_of_batch);

}  // namespace tessera::backends::cutlass
