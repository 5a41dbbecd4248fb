// SPDX-License-Identifier: Apache-2.0
// From an operator to OpenVINO's operations, or the sentence why there is none. The same function
// answers the pattern's check and writes the graph, so what is accepted can be written.
#pragma once

#include <cstdint>
#include <span>

#include "backends/openvino/call.h"
#include "ops/attrs/conv.h"
#include "ops/attrs/pool.h"

namespace tessera::backends::openvino {

// What operands and results may be of. OpenVINO's CPU plugin computes float64 in float32, int64 in
// int32 and integers partly in float32: where that could be seen, they are refused.
enum class Types : std::uint8_t {
  kFloats,       // float32
  kBools,        // bool
  kComparisons,  // float32, to bool
  kMoved,        // elements that are moved, and looked at by nobody
  kChosen,       // bool, and then elements that are moved
  kTaken,        // elements that are moved, and whole numbers
  kCast,         // see cast()
};

struct Converter {
  std::string_view op;
  Types types;
  ValuesOr (*convert)(Call& call);
};

// All of operators.def.
std::span<const Converter> converters();
// Null: there is none.
const Converter* find_converter(std::string_view op);

// Checks types and sizes, and converts.
ValuesOr convert(const Converter& converter, Call& call);

ValuesOr is_nan(Call& call);
ValuesOr maximum(Call& call);
ValuesOr minimum(Call& call);
ValuesOr rsqrt(Call& call);
ValuesOr round(Call& call);
ValuesOr clip(Call& call);
ValuesOr gelu(Call& call);
ValuesOr leaky_relu(Call& call);
ValuesOr prelu(Call& call);
ValuesOr elu(Call& call);
ValuesOr hard_sigmoid(Call& call);
ValuesOr bias_add(Call& call);
ValuesOr cast(Call& call);

ValuesOr dense(Call& call);
ValuesOr matmul(Call& call);
ValuesOr batch_matmul(Call& call);
ValuesOr convolution_of(Call& call, const ops::ConvAttrs& attrs);
ValuesOr transposed_convolution_of(Call& call, const ops::ConvAttrs& attrs);
ValuesOr max_pool_of(Call& call, const ops::PoolAttrs& attrs);
ValuesOr average_pool_of(Call& call, const ops::PoolAttrs& attrs);
template <class A>
ValuesOr convolution(Call& call) {
  return convolution_of(call, call.attrs<A>());
}
template <class A>
ValuesOr transposed_convolution(Call& call) {
  return transposed_convolution_of(call, call.attrs<A>());
}
template <class A>
ValuesOr max_pool(Call& call) {
  return max_pool_of(call, call.attrs<A>());
}
template <class A>
ValuesOr average_pool(Call& call) {
  return average_pool_of(call, call.attrs<A>());
}
ValuesOr global_average_pool(Call& call);
ValuesOr global_max_pool(Call& call);

ValuesOr mean(Call& call);
ValuesOr sum(Call& call);
ValuesOr greatest(Call& call);
ValuesOr least(Call& call);
ValuesOr softmax(Call& call);
ValuesOr log_softmax(Call& call);
ValuesOr layer_norm(Call& call);
ValuesOr rms_norm(Call& call);
ValuesOr instance_norm(Call& call);

ValuesOr reshape(Call& call);
ValuesOr transpose(Call& call);
ValuesOr concatenate(Call& call);
ValuesOr stack(Call& call);
ValuesOr split(Call& call);
ValuesOr strided_slice(Call& call);
ValuesOr broadcast_to(Call& call);
ValuesOr tile(Call& call);
ValuesOr take(Call& call);
ValuesOr pad(Call& call);
ValuesOr resize(Call& call);
ValuesOr depth_to_space(Call& call);
ValuesOr space_to_depth(Call& call);

}  // namespace tessera::backends::openvino
