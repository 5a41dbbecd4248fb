// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/converters.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "backends/openvino/runtime/api.h"

namespace tessera::backends::openvino {
namespace {

constexpr Converter kConverters[] = {
#define SAME(op, types, operation, opset) \
  {op, Types::types,                      \
   [](Call& call) -> ValuesOr { return Values{call.layer(operation, opset, call.operands())}; }},
#define CONVERTED(op, types, function) {op, Types::types, function},
#include "backends/openvino/operators.def"
#undef SAME
#undef CONVERTED
};

bool is_moved(DType t) { return t == kFloat32 || t == kInt32 || t == kBool || t.is_byte(); }

// May operand `i` be of this type; may the result, where there is no i?
bool is_of(Types types, DType t, std::optional<std::size_t> i) {
  switch (types) {
    case Types::kFloats:
      return t == kFloat32;
    case Types::kBools:
      return t == kBool;
    case Types::kComparisons:
      return t == (i ? kFloat32 : kBool);
    case Types::kMoved:
      return is_moved(t);
    case Types::kChosen:
      return i == 0 ? t == kBool : is_moved(t);
    case Types::kTaken:
      return i == 1 ? t == kInt32 || t == kInt64 : is_moved(t);
    case Types::kCast:
      return !ir_type(t).empty();
  }
  return false;
}

std::optional<Refusal> tensor_refusal(const Type& type) {
  if (type.rank() > static_cast<std::size_t>(kMostDimensions)) {
    return Refusal{fmt::format("{} has more than {} dimensions", to_string(type), kMostDimensions)};
  }
  for (const Dim& d : type.shape()) {
    if (d.is_unknown())
      return Refusal{fmt::format("{} has a size without a name", to_string(type))};
    if (d == Dim(0)) return Refusal{fmt::format("{} is empty", to_string(type))};
  }
  return std::nullopt;
}

std::optional<Refusal> type_refusal(const Converter& converter, const Type& type,
                                    std::optional<std::size_t> operand) {
  for (const Type& tensor : flatten(type)) {
    if (auto why = tensor_refusal(tensor)) return why;
    if (!is_of(converter.types, tensor.dtype(), operand)) {
      return Refusal{fmt::format("{} of {} is not computed as the operator says",
                                 operand ? "an operand" : "a result", to_string(tensor.dtype()))};
    }
  }
  return std::nullopt;
}

}  // namespace

std::span<const Converter> converters() { return kConverters; }

const Converter* find_converter(std::string_view op) {
  const auto found = std::find_if(std::begin(kConverters), std::end(kConverters),
                                  [op](const Converter& c) { return c.op == op; });
  return found == std::end(kConverters) ? nullptr : &*found;
}

ValuesOr convert(const Converter& converter, Call& call) {
  for (std::size_t i = 0; i < call.num_operands(); ++i) {
    if (auto why = type_refusal(converter, call.type(i), i)) return Unexpected{*why};
  }
  if (auto why = type_refusal(converter, call.result(), std::nullopt)) return Unexpected{*why};
  return converter.convert(call);
}

}  // namespace tessera::backends::openvino
