// SPDX-License-Identifier: Apache-2.0
// Quantisation, composed of casts and arithmetic in wider types.
#include "import/converters.h"
#include "import/quantization.h"

namespace tessera::import {
namespace {

// A scale or zero point for broadcasting to `x`: of the tensor, of one axis, or of blocks of it.
Value spread(Value p, Value x, std::int64_t axis, std::int64_t block) {
  if (product(p.sizes()) == 1) return p.reshape({});
  if (p.rank() == 1) return along(p, axis, x.rank());
  if (block <= 0) return p;
  return Value(p.node(), p.node().call("repeat", {p}, {{"repeats", block}, {"axis", axis}}))
      .slice(axis, 0, x.size(axis));
}

struct Parameters {
  Value scale, zero;  // the zero point as float32
};

Parameters parameters(Node& n, Value x, std::size_t scale, std::size_t zero) {
  const std::int64_t block = n.int_attr("block_size", 0);
  const bool one = product(n.sizes(n.input(scale))) == 1;
  const std::int64_t axis = one ? n.int_attr("axis", 1) : n.axis_attr(1, x);
  return {spread(input(n, scale).cast(kFloat32), x, axis, block),
          spread(input_or(n, zero, 0, kFloat32).cast(kFloat32), x, axis, block)};
}

std::vector<NodeId> convert_quantize(Node& n) {
  const Value x = input(n, 0);
  const DType stated = n.dtype_attr("output_dtype", kUInt8);
  const DType to = n.has_input(2) ? n.dtype(n.input(2)) : stated;
  n.ignore_attr("saturate");  // of float8
  const Parameters p = parameters(n, x, 1, 2);
  return {quantize(x.cast(kFloat32) / p.scale, p.zero, to)};
}

std::vector<NodeId> convert_dequantize(Node& n) {
  const Value x = input(n, 0);
  const DType to = n.dtype(n.input(1));
  const Parameters p = parameters(n, x, 1, 2);
  return {((x.cast(kFloat32) - p.zero) * p.scale).cast(to)};
}

std::vector<NodeId> convert_dynamic_quantize(Node& n) {
  const Quantized q = quantize_by_range(input(n, 0));
  return {q.values, q.scale, q.zero};
}

constexpr Converter kQuantizeTable[] = {
    {"QuantizeLinear", 10, convert_quantize},
    {"DequantizeLinear", 10, convert_dequantize},
    {"com.microsoft.QuantizeLinear", 1, convert_quantize},
    {"com.microsoft.DequantizeLinear", 1, convert_dequantize},
    {"DynamicQuantizeLinear", 11, convert_dynamic_quantize},
};

}  // namespace

extern const std::span<const Converter> quantize_converters;
const std::span<const Converter> quantize_converters = kQuantizeTable;

}  // namespace tessera::import
