// SPDX-License-Identifier: Apache-2.0
// A call of an operator on its way into TensorRT's layers: what it reads, and what it becomes. All
// sizes are known.
#pragma once

#include "backends/tensorrt/graph.h"
#include "byoc/region_values.h"
#include "relay/attributes.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::tensorrt {

using relay::Refusal;
using relay::refuse;
using Ints = std::vector<std::int64_t>;
using ValueOr = Expected<Value, Refusal>;

using Operand = byoc::GraphOperand<Value>;

class Call {
 public:
  // `type`: what the operator's line of operators.def says.
  Call(std::string composite, std::string_view type, const relay::Attrs& attrs, Type result,
       std::vector<Operand> operands, Graph& out)
      : composite_(std::move(composite)),
        type_(type),
        attrs_(attrs),
        result_(std::move(result)),
        operands_(std::move(operands)),
        out_(out) {}

  template <class A>
  A attrs() const {
    return relay::read_attrs<A>(attrs_);
  }
  std::string_view type() const { return type_; }
  std::size_t num_operands() const { return operands_.size(); }
  const Type& operand_type(std::size_t i) const { return operands_[i].type; }
  const Type& result_type() const { return result_; }
  Ints shape(std::size_t i) const { return *constant_shape(operands_[i].type.shape()); }
  Ints result_shape() const { return *constant_shape(result_.shape()); }

  Value operand(std::size_t i) const { return operands_[i].values.front(); }
  const std::vector<Value>& fields(std::size_t i) const { return operands_[i].values; }
  const Tensor* constant(std::size_t i) const { return operands_[i].constant; }

  // A layer whose result has this shape, or that of the call.
  Value layer(std::string_view kind, std::vector<Value> inputs, Attributes attributes,
              const Ints& shape);
  Value layer(std::string_view kind, std::vector<Value> inputs, Attributes attributes) {
    return layer(kind, std::move(inputs), std::move(attributes), result_shape());
  }
  Value unary(std::string_view type, Value value, const Ints& shape);
  Value elementwise(std::string_view type, Value a, Value b, const Ints& shape);
  Value reshaped(Value value, const Ints& shape) { return layer("shuffle", {value}, {}, shape); }

  // The operand with sizes of one in front, as TensorRT broadcasts equal numbers of dimensions
  // alone.
  Value with_rank(std::size_t i, std::size_t rank);
  // The operand, a vector, as a tensor that lies along `axis` of a result of `rank` dimensions.
  Value along(std::size_t i, std::int64_t axis, std::size_t rank);
  // The number as a tensor of so many dimensions.
  Value number(double value, std::size_t rank);

 private:
  Value shaped(std::size_t i, const Ints& shape);

  const std::string composite_;
  const std::string_view type_;
  const relay::Attrs& attrs_;
  const Type result_;
  const std::vector<Operand> operands_;
  Graph& out_;
};

// Counted from the front.
inline std::int64_t from_front(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

}  // namespace tessera::backends::tensorrt
