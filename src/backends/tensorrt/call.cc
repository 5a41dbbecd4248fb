// SPDX-License-Identifier: Apache-2.0
#include "backends/tensorrt/call.h"

namespace tessera::backends::tensorrt {

Value Call::layer(std::string_view kind, std::vector<Value> inputs, Attributes attributes,
                  const Ints& shape) {
  const Type type = tensor_type(Shape(shape.begin(), shape.end()), result_.dtype());
  return out_.layer(composite_, kind, std::move(inputs), std::move(attributes), type);
}

Value Call::unary(std::string_view type, Value value, const Ints& shape) {
  return layer("unary", {value}, {{"type", {std::string(type)}}}, shape);
}

Value Call::elementwise(std::string_view type, Value a, Value b, const Ints& shape) {
  return layer("elementwise", {a, b}, {{"type", {std::string(type)}}}, shape);
}

// Constants are stored in their new shape, and need no layer.
Value Call::shaped(std::size_t i, const Ints& wanted) {
  if (shape(i) == wanted) return operand(i);
  if (const Tensor* known = constant(i)) {
    return out_.constant(Tensor(wanted, known->dtype, known->blob));
  }
  return reshaped(operand(i), wanted);
}

Value Call::with_rank(std::size_t i, std::size_t rank) {
  Ints wanted = shape(i);
  wanted.insert(wanted.begin(), rank - wanted.size(), 1);
  return shaped(i, wanted);
}

Value Call::along(std::size_t i, std::int64_t axis, std::size_t rank) {
  Ints wanted(rank, 1);
  wanted[static_cast<std::size_t>(axis)] = shape(i).front();
  return shaped(i, wanted);
}

Value Call::number(double value, std::size_t rank) {
  const double values[] = {value};
  return out_.constant(tensor_from_doubles(Ints(rank, 1), result_.dtype(), values));
}

}  // namespace tessera::backends::tensorrt
