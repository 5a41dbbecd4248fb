// SPDX-License-Identifier: Apache-2.0
// What integer_sums.h completes: convolutions, products with a weight, and sums of two tensors.
#include <cmath>

#include "backends/onednn/describe.h"
#include "backends/onednn/integer_sums.h"
#include "backends/onednn/windows.h"

namespace tessera::backends::onednn {

KernelOr describe_integer_convolution(const Subject& s, std::string_view) {
  if (auto why = s.size_refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  TESSERA_TRY(const IntegerSource source, integer_source(s, s.operands(core)[0]));
  TESSERA_TRY(Kernel kernel,
              windows(s, "convolution", s.text(core, "kernel_layout"), source.bytes));
  const int weights = add_weights(s, core, kernel);
  const Ints shape = *constant_shape(s.shape(s.operands(core)[1]));
  std::int64_t terms = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) terms *= shape[i];
  if (auto why = add_integers(s, source, weights, weight_order(shape[0], terms, true), 1, kernel)) {
    return Unexpected<Refusal>{*why};
  }
  return kernel;
}

KernelOr describe_integer_product(const Subject& s, std::string_view) {
  if (auto why = s.size_refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  TESSERA_TRY(const IntegerSource source, integer_source(s, s.operands(core)[0]));
  const bool is_dense = s.op(core) == "nn.dense";
  const Shape rows = s.shape(source.bytes), weight = s.shape(s.operands(core)[1]);
  if (rows.size() < 2 || weight.size() != 2) return refuse("it is no product with a matrix");
  if (!is_dense && s.integer(core, "transpose_a") != 0) return refuse("the rows are transposed");
  const bool has_rows_of_terms = is_dense || s.integer(core, "transpose_b") != 0;
  const std::int64_t channels = weight[has_rows_of_terms ? 0 : 1].constant(),
                     terms = weight[has_rows_of_terms ? 1 : 0].constant();
  const WeightOrder order = weight_order(channels, terms, has_rows_of_terms);
  const Dim count = num_elements({rows.begin(), rows.end() - 1});
  Kernel kernel;
  kernel.kind = "matmul";
  kernel.result_dims = {count, channels};
  kernel.result_strides = row_major_strides(kernel.result_dims);
  kernel.add_operand(source.bytes, "source", View::of({count, terms}));
  const int weights =
      kernel.add_operand(s.operands(core)[1], "weights",
                         View{{terms, channels}, {order.term_stride, order.channel_stride}});
  if (auto why = add_integers(s, source, weights, order, rows.size() - 1, kernel)) {
    return Unexpected<Refusal>{*why};
  }
  return kernel;
}

namespace {

// (bytes - zero) * scale.
struct Dequantised {
  NodeId bytes, scale;
  double factor, zero = 0;
};

Expected<Dequantised, Refusal> dequantised(const Subject& s, NodeId id) {
  const NodeId scale = s.operands(id)[1];
  const auto factor = s.scalar(scale);
  if (!factor || !std::isnormal(*factor)) return refuse("there is no single scale");
  Dequantised out{s.operands(id)[0], scale, *factor};
  if (s.op(out.bytes) == "subtract") {
    const auto zero = s.scalar(s.operands(out.bytes)[1]);
    if (!zero) return refuse("there is no single zero point");
    out.zero = *zero;
    out.bytes = s.operands(out.bytes)[0];
  }
  out.bytes = s.operands(out.bytes)[0];
  if (s.dtype(id) != kFloat32 || !s.dtype(out.bytes).is_byte()) {
    return refuse("it is no sum in float32 of integers of eight bits");
  }
  if (s.shape(out.bytes) != s.shape(s.capture("core")))
    return refuse("the operands differ in shape");
  return out;
}

}  // namespace

// ((a * scale_a) / scale_b + b) * scale_b, less what both zero points are: the library adds a
// second tensor as it is.
KernelOr describe_quantised_sum(const Subject& s, std::string_view) {
  if (auto why = s.size_refusal()) return Unexpected<Refusal>{*why};
  const NodeId core = s.capture("core");
  TESSERA_TRY(const Dequantised a, dequantised(s, s.operands(core)[0]));
  TESSERA_TRY(const Dequantised b, dequantised(s, s.operands(core)[1]));
  Kernel kernel;
  kernel.kind = "binary";
  kernel.result_dims = s.shape(core);
  kernel.add_operand(a.bytes, "source", kernel.result_dims);
  const Shape one(kernel.result_dims.size(), 1);
  kernel.add_operand(a.scale, "second_source", View::of(one));
  kernel.set("algorithm", "binary_mul");
  kernel.post_ops.push_back({"eltwise_linear", -1, 1 / b.factor, 0});
  kernel.post_ops.push_back(
      {"binary_add", kernel.add_operand(b.bytes, "post_op", kernel.result_dims)});
  const double zeros = a.zero * a.factor + b.zero * b.factor;
  kernel.post_ops.push_back({"eltwise_linear", -1, b.factor, -zeros});
  // Channels are the second dimension of images.
  if (auto why = add_requantisation(s, std::min<std::size_t>(1, one.size() - 1), kernel)) {
    return Unexpected<Refusal>{*why};
  }
  return kernel;
}

}  // namespace tessera::backends::onednn
