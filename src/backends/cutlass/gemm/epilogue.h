// SPDX-License-Identifier: Apache-2.0
// What a composite computes after its product, as a function of one element: any graph of
// element-wise operators, made into text for kernels/elementwise.cuh.
#pragma once

#include <cstdint>
#include <vector>

#include "constants/float8.h"
#include "relay/function.h"
#include "relay/patterns/pattern_table.h"
#include "support/source.h"

namespace tessera {
class ConstantPool;
}

namespace tessera::backends::cutlass {

// What one matrix of the batch has of it; `kRepeated`: as kFull, and all matrices have the same.
enum class InputKind : std::uint8_t { kRow, kColumn, kFull, kScalar, kRepeated };

// A value that the function reads beside the product's element.
struct EpilogueInput {
  relay::NodeId node;
  InputKind kind = InputKind::kFull;
  DType dtype;
  bool is_batched = false;  // each matrix of the batch has its own
};

struct Epilogue {
  std::vector<EpilogueInput> inputs;     // x0, x1, ... of the text
  Source body;                           // statements, one a line; empty: nothing is computed
  Source result = Literal("sum");        // an expression
  DType sum_dtype = kFloat32;            // of what the product gives: or int32
  DType product_dtype;                   // of the product in the graph
  DType dtype;                           // of the result
  const Float8Format* format = nullptr;  // of floats of eight bits, of which it has the codes
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

// Null for what is no constant, or one that no pool was given for.
const Tensor* constant_of(const Composite& composite, relay::NodeId id);

// How a tensor lies along some dimensions of what it is broadcast to.
enum class Extent : std::uint8_t { kOne, kFull, kPart };
// Along [first, last) of `whole`; the tensor has the last ones of its dimensions.
Extent extent_of(const Shape& tensor, const Shape& whole, std::size_t first, std::size_t last);

// The first `batch_rank` dimensions of the result are the batch, those up to the last are rows:
// each of the two is one dimension to the kernel, and an input must fit that.
Expected<Epilogue, relay::Refusal> describe_epilogue(const Composite& composite,
                                                     std::size_t batch_rank);

}  // namespace tessera::backends::cutlass
