// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/call.h"

#include <algorithm>

namespace tessera::backends::openvino {

Values Call::operands() const {
  Values all;
  for (const Operand& o : operands_) all.insert(all.end(), o.values.begin(), o.values.end());
  return all;
}

Values Call::layers(std::string_view type, int opset, const Values& inputs,
                    const std::vector<Attribute>& attributes, std::uint32_t outputs) {
  const Value first = out_.layer(type, opset, inputs, attributes, outputs);
  Values all;
  for (std::uint32_t i = 0; i < outputs; ++i) all.push_back({first.layer, first.port + i});
  return all;
}

Value Call::ints(const Ints& values) {
  return out_.constant(Tensor::of({static_cast<std::int64_t>(values.size())}, kInt64, values));
}
Value Call::integer(std::int64_t value) { return out_.constant(Tensor::scalar(value, kInt64)); }
Value Call::number(double value) {
  return out_.constant(Tensor::scalar(static_cast<float>(value), kFloat32));
}

Expected<Value, Refusal> Call::reshaped(std::size_t i, const Shape& wanted) {
  const Shape& given = shape(i);
  const auto is_open = [](const Dim& d) { return !d.is_constant(); };
  const bool follows = std::count_if(wanted.begin(), wanted.end(), is_open) <= 1;
  Ints numbers;
  bool has_rest = false;
  Values pieces;
  for (const Dim& size : wanted) {
    if (!is_open(size)) {
      numbers.push_back(size.constant());
      pieces.push_back(ints({size.constant()}));
      continue;
    }
    const auto same = size.is_unknown() ? given.end() : std::find(given.begin(), given.end(), size);
    numbers.push_back(-1);
    if (same != given.end() && !follows) {
      pieces.push_back(layer("Gather", 8,
                             {layer("ShapeOf", 3, {operand(i)}, {{"output_type", "i64"}}),
                              ints({same - given.begin()}), integer(0)}));
    } else if (!has_rest) {
      has_rest = true;
      pieces.push_back(ints({-1}));
    } else {
      return refuse("several sizes of {} are none of {}", to_string(wanted), to_string(given));
    }
  }
  const Value sizes = follows ? ints(numbers) : layer("Concat", 1, pieces, {{"axis", "0"}});
  return layer("Reshape", 1, {operand(i), sizes}, {{"special_zero", "false"}});
}

Value Call::along(std::size_t i, std::size_t axis, std::size_t rank) {
  Ints sizes(rank, 1);
  sizes[axis] = -1;
  return layer("Reshape", 1, {operand(i), ints(sizes)}, {{"special_zero", "false"}});
}

}  // namespace tessera::backends::openvino
