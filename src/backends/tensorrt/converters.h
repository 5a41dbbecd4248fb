// SPDX-License-Identifier: Apache-2.0
// From an operator to TensorRT's layers, or the sentence why there are none. The same function
// answers the pattern's check and writes the graph, so what is accepted can be written.
#pragma once

#include <span>

#include "backends/tensorrt/call.h"
#include "ops/attrs/conv.h"
#include "ops/attrs/elementwise.h"
#include "ops/attrs/pool.h"

namespace tessera::backends::tensorrt {

struct Converter {
  std::string_view op;
  ValueOr (*convert)(Call& call);
  std::string_view type;
  bool multiplies = false;
  bool has_weight = false;
};

// All of operators.def.
std::span<const Converter> converters();
// Null: there is none.
const Converter* find_converter(std::string_view op);

// Checks types and sizes, and converts.
ValueOr convert(const Converter& converter, Call& call, bool takes_float16);

ValueOr activation(Call& call);
ValueOr unary(Call& call);
ValueOr elementwise(Call& call);
ValueOr softplus(Call& call);
ValueOr hard_sigmoid(Call& call);
ValueOr clip(Call& call);
ValueOr gelu(Call& call);
ValueOr rsqrt(Call& call);
ValueOr bias_add(Call& call);
Value activation_of(Call& call, double alpha, double beta);
template <class A>
ValueOr with_alpha(Call& call) {
  return activation_of(call, call.attrs<A>().alpha, 0);
}

ValueOr dense(Call& call);
ValueOr product(Call& call, bool transpose_a, bool transpose_b);
template <class A>
ValueOr matmul(Call& call) {
  return product(call, call.attrs<A>().transpose_a, call.attrs<A>().transpose_b);
}

ValueOr convolution_of(Call& call, const ops::ConvAttrs& attrs);
ValueOr transposed_convolution_of(Call& call, const ops::ConvAttrs& attrs);
ValueOr pool_of(Call& call, const ops::PoolAttrs& attrs);
template <class A>
ValueOr convolution(Call& call) {
  return convolution_of(call, call.attrs<A>());
}
template <class A>
ValueOr transposed_convolution(Call& call) {
  return transposed_convolution_of(call, call.attrs<A>());
}
template <class A>
ValueOr pool(Call& call) {
  return pool_of(call, call.attrs<A>());
}
ValueOr global_pool(Call& call);

ValueOr reduced(Call& call);
ValueOr softmax(Call& call);
ValueOr layer_norm(Call& call);

ValueOr reshape(Call& call);
ValueOr transpose(Call& call);
ValueOr concatenate(Call& call);
ValueOr strided_slice(Call& call);

}  // namespace tessera::backends::tensorrt
