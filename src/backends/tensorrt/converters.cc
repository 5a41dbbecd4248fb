// SPDX-License-Identifier: Apache-2.0
#include "backends/tensorrt/converters.h"

#include <algorithm>

#include "ops/attrs/matmul.h"

namespace tessera::backends::tensorrt {
namespace {

constexpr Converter kConverters[] = {
#define OPERATOR(op, function, type) {op, function, type},
#define PRODUCT(op, function) {op, function, "", true},
#define WITH_WEIGHT(op, function) {op, function, "", true, true},
#include "backends/tensorrt/operators.def"
#undef OPERATOR
#undef PRODUCT
#undef WITH_WEIGHT
};

// Of nvinfer1::Dims.
constexpr std::size_t kMostDimensions = 8;

std::optional<Refusal> type_refusal(const Type& type, bool takes_float16) {
  for (const Type& tensor : flatten(type)) {
    const DType dtype = tensor.dtype();
    if (dtype == kFloat16 && !takes_float16) {
      return Refusal{"float16 is taken with -use_fp16=true alone"};
    }
    if (dtype != kFloat32 && dtype != kFloat16) {
      return Refusal{fmt::format("data type {} is not float32", to_string(dtype))};
    }
    const auto shape = constant_shape(tensor.shape());
    if (!shape) {
      return Refusal{
          fmt::format("an engine of TensorRT is for known sizes, not {}", to_string(tensor))};
    }
    if (shape->size() > kMostDimensions) {
      return Refusal{
          fmt::format("{} has more than {} dimensions", to_string(tensor), kMostDimensions)};
    }
    if (std::count(shape->begin(), shape->end(), 0) != 0) return Refusal{"a tensor is empty"};
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

ValueOr convert(const Converter& converter, Call& call, bool takes_float16) {
  if (auto why = type_refusal(call.result_type(), takes_float16)) return Unexpected{*why};
  for (std::size_t i = 0; i < call.num_operands(); ++i) {
    if (auto why = type_refusal(call.operand_type(i), takes_float16)) return Unexpected{*why};
    for (const Type& tensor : flatten(call.operand_type(i))) {
      if (tensor.dtype() != call.result_type().dtype()) {
        return refuse("operands and result are of several data types");
      }
    }
  }
  return converter.convert(call);
}

}  // namespace tessera::backends::tensorrt
