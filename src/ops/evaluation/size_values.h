// SPDX-License-Identifier: Apache-2.0
// Shape arithmetic of exporters (Shape, Gather, Concat, ...): the elements of small integer tensors
// as sizes, which may be symbolic.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "relay/function.h"
#include "relay/operator.h"

namespace tessera::ops {

struct SizeOperand {
  Type type;
  const Shape* sizes = nullptr;  // its elements, `?` where one is not known; null: nothing is known
};

// "3", "seq", "(2*seq+1)"; nothing for what is none of these.
std::optional<Dim> size_of_text(const std::string& text);

// The elements of a constant of integers or truth values; nothing for others and for large ones.
std::optional<Shape> size_values(const Tensor& constant);
// The sizes that a call's result holds. Tuple operands come flattened.
std::optional<Shape> size_values(const relay::Operator& op, const relay::Attrs& attrs,
                                 std::span<const SizeOperand> operands, const Type& result);

// The sizes that a node's tensors have or, where it is a call of `sizes`, that it computes with.
// The function is typed.
Shape sizes_of(const relay::Function& f, relay::NodeId id);

}  // namespace tessera::ops
