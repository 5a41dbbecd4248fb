// SPDX-License-Identifier: Apache-2.0
// A call of an operator on its way into OpenVINO's graph: what it reads, and what it becomes.
#pragma once

#include "backends/openvino/ir_writer.h"
#include "byoc/region_values.h"
#include "relay/attributes.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::openvino {

using relay::Refusal;
using relay::refuse;
using Ints = std::vector<std::int64_t>;

// The tensors of a value in the graph, a tuple's in order.
using Values = std::vector<Value>;
using ValuesOr = Expected<Values, Refusal>;

using Operand = byoc::GraphOperand<Value>;

class Call {
 public:
  Call(const relay::Attrs& attrs, Type result, std::vector<Operand> operands, IrWriter& out)
      : attrs_(attrs), result_(std::move(result)), operands_(std::move(operands)), out_(out) {}

  template <class A>
  A attrs() const {
    return relay::read_attrs<A>(attrs_);
  }
  std::size_t num_operands() const { return operands_.size(); }
  const Type& type(std::size_t i) const { return operands_[i].type; }
  const Shape& shape(std::size_t i) const { return type(i).shape(); }
  const Type& result() const { return result_; }
  const Tensor* constant(std::size_t i) const { return operands_[i].constant; }

  // The tensors of all operands, or those of operand i.
  Values operands() const;
  const Values& fields(std::size_t i) const { return operands_[i].values; }
  Value operand(std::size_t i) const { return operands_[i].values.front(); }

  bool is_unfused() const { return out_.is_unfused(); }
  // A layer with one output.
  Value layer(std::string_view type, int opset, const Values& inputs,
              const std::vector<Attribute>& attributes = {}) {
    return out_.layer(type, opset, inputs, attributes);
  }
  Values layers(std::string_view type, int opset, const Values& inputs,
                const std::vector<Attribute>& attributes, std::uint32_t outputs);
  // A constant vector, or scalar.
  Value ints(const Ints& values);
  Value integer(std::int64_t value);
  Value number(double value);  // float32
  Value constant_of(const Tensor& tensor) { return out_.constant(tensor); }

  // The operand's elements in another shape. One size of that may be open: it follows from the
  // rest; others are read off the operand.
  Expected<Value, Refusal> reshaped(std::size_t i, const Shape& shape);
  // The operand, a vector, as a tensor that lies along `axis` of a result of `rank` dimensions.
  Value along(std::size_t i, std::size_t axis, std::size_t rank);

 private:
  const relay::Attrs& attrs_;
  const Type result_;
  const std::vector<Operand> operands_;
  IrWriter& out_;
};

// Counted from the front.
inline std::int64_t from_front(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

}  // namespace tessera::backends::openvino
