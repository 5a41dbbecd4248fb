// SPDX-License-Identifier: Apache-2.0
// What CUTLASS can run: convolutions with a residual after them, matrix products and convolutions
// with bias and activation. `tessera backends --patterns cutlass` shows the table as text.
#include "backends/cutlass/patterns.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "backends/cutlass/gemm/epilogue.h"
#include "ops/attrs/conv.h"
#include "ops/attrs/matmul.h"

namespace tessera::backends::cutlass {
namespace {

using relay::CompositePattern;
using relay::Function;
using relay::is_constant;
using relay::is_op;
using relay::is_operator;
using relay::Match;
using relay::NodeId;
using relay::Pattern;
using relay::Refusal;
using relay::wildcard;
using Why = std::optional<Refusal>;

// ---- Checks

template <class... A>
Why refuse(fmt::format_string<A...> text, A&&... a) {
  return Refusal{fmt::format(text, std::forward<A>(a)...)};
}

// From `id` back through first arguments to a call of the operator; invalid if there is none.
NodeId find_call(const Function& f, NodeId id, std::string_view op) {
  while (f.op(id) != nullptr && f.op(id)->name != op) {
    const auto operands = f.operands(id);
    if (operands.empty()) return {};
    id = operands[0];
  }
  return f.op(id) != nullptr ? id : NodeId();
}

// The data types of a product's operands: both float16, both float32, or both of eight bits.
Why check_dtypes(const Function& f, NodeId call) {
  const DType a = f.type(f.operands(call)[0]).dtype(), b = f.type(f.operands(call)[1]).dtype();
  if (a == b && (a == kFloat16 || a == kFloat32)) return std::nullopt;
  if (a.is_byte() && b.is_byte()) return std::nullopt;
  return refuse("there is no kernel for {} times {}", to_string(a), to_string(b));
}

Why not_found(std::string_view op) {
  return refuse("no `{}` is reached through first arguments", op);
}

Why check_gemm(const Match& m, const Target&) {
  const NodeId dense = find_call(*m.function, m.root, "nn.dense");
  return dense ? check_dtypes(*m.function, dense) : not_found("nn.dense");
}

Why check_batch_matmul(const Match& m, const Target&) {
  const Function& f = *m.function;
  const NodeId call = find_call(f, m.root, "nn.batch_matmul");
  if (!call) return not_found("nn.batch_matmul");
  if (Why why = check_dtypes(f, call)) return why;
  const auto attrs = relay::read_attrs<ops::BatchMatmulAttrs>(f.as<relay::OpCall>(call)->attrs);
  if (attrs.transpose_a) return refuse("the first factor is transposed");
  if (!attrs.transpose_b) return refuse("the second factor is not transposed");
  return std::nullopt;
}

// A: the operator's attributes.
template <class A>
Why check_convolution(const Match& m, std::string_view op, std::string_view kernel_layout) {
  const Function& f = *m.function;
  const NodeId call = find_call(f, m.root, op);
  if (!call) return not_found(op);
  const A attrs = relay::read_attrs<A>(f.as<relay::OpCall>(call)->attrs);
  if (attrs.data_layout != "NHWC") return refuse("the data layout is {}", attrs.data_layout);
  if (attrs.kernel_layout != kernel_layout) {
    return refuse("the kernel layout is {}, not {}", attrs.kernel_layout, kernel_layout);
  }
  if (Why why = check_dtypes(f, call)) return why;
  const auto& data = f.type(f.operands(call)[0]).shape();
  const auto& weight = f.type(f.operands(call)[1]).shape();
  if (data[3] == weight[0] && weight[0] == Dim(attrs.groups)) {
    return refuse("the convolution is depthwise");
  }
  return std::nullopt;
}

Why check_conv2d(const Match& m, const Target&) {
  return check_convolution<ops::Conv2DAttrs>(m, "nn.conv2d", "OHWI");
}
Why check_conv2d_transpose(const Match& m, const Target&) {
  return check_convolution<ops::Conv2DTransposeAttrs>(m, "nn.conv2d_transpose", "IHWO");
}
Why check_conv2d_backward_weight(const Match& m, const Target&) {
  return check_convolution<ops::Conv2DAttrs>(m, "nn.conv2d_backward_weight", "NHWC");
}

// The residual must not come from the convolution itself, and it is not broadcast.
Why check_residual(const Match& m, const Target& target, std::string_view op) {
  if (Why why = check_conv2d(m, target)) return why;
  const Function& f = *m.function;
  const NodeId binary = find_call(f, m.root, op);
  if (!binary) return not_found(op);
  const NodeId lhs = f.operands(binary)[0], rhs = f.operands(binary)[1];
  const NodeId convolution = find_call(f, m.root, "nn.conv2d");
  if (find_call(f, lhs, "nn.conv2d") == convolution &&
      find_call(f, rhs, "nn.conv2d") == convolution) {
    return refuse("both operands of `{}` come from the convolution", op);
  }
  const auto &a = f.type(lhs).shape(), &b = f.type(rhs).shape();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (provably_equal(a[i], b[i]) != Tri::kYes) {
      return refuse("the operands of `{}` have shapes {} and {}", op, to_string(a), to_string(b));
    }
  }
  return std::nullopt;
}

// ---- Patterns

Pattern with_bias(const Pattern& x) {
  return (is_operator("add") | is_operator("nn.bias_add")).call({x, wildcard()});
}

Pattern constant_or_any() { return is_constant() | wildcard(); }

// (erf(x * c1) * c2 + c3) * x
Pattern gelu(const Pattern& x, bool through_float32) {
  const Pattern scaled = is_op("multiply", {x, constant_or_any()});
  const Pattern erf = through_float32 ? is_op("cast", {is_op("erf", {is_op("cast", {scaled})})})
                                      : is_op("erf", {scaled});
  const Pattern half = is_op("multiply", {erf, constant_or_any()});
  return is_op("multiply", {is_op("add", {half, constant_or_any()}), x});
}

// x * (clip(x + 3) / 6), whatever the constants
Pattern hardswish(const Pattern& x) {
  const Pattern clipped = is_op("clip", {is_op("add", {x, is_constant()})});
  return is_op("multiply", {x, is_op("divide", {clipped, is_constant()})});
}

Pattern silu(const Pattern& x) { return is_op("multiply", {x, is_op("sigmoid", {x})}); }
Pattern relu(const Pattern& x) { return is_op("nn.relu", {x}); }

Pattern with_residual(const Pattern& x, const char* op) {
  const Pattern residual = wildcard();
  return is_op(op, {x, residual}) | is_op(op, {residual, x});
}

struct Named {
  std::string name;
  Pattern pattern;
};

Pattern binary(const char* op) { return is_op(op, {wildcard(), wildcard()}); }

// In the order in which residuals are tried after them.
std::array<Named, 5> biased_convolutions() {
  const Pattern biased = with_bias(binary("nn.conv2d"));
  return {Named{"cutlass.conv2d_bias_hardswish", hardswish(biased)},
          Named{"cutlass.conv2d_bias_silu", silu(biased)},
          Named{"cutlass.conv2d_bias_relu", relu(biased)},
          Named{"cutlass.conv2d_bias_sigmoid", is_op("sigmoid", {biased})},
          Named{"cutlass.conv2d_bias", biased}};
}

void add_residuals(std::vector<CompositePattern>& table) {
  for (const bool with_relu : {true, false}) {
    for (const Named& base : biased_convolutions()) {
      for (const char* op : {"add", "multiply"}) {
        const Pattern sum = with_residual(base.pattern, op);
        table.push_back({fmt::format("{}_residual_{}{}", base.name, op, with_relu ? "_relu" : ""),
                         with_relu ? relu(sum) : sum, [op](const Match& m, const Target& t) {
                           return check_residual(m, t, op);
                         }});
      }
    }
  }
}

}  // namespace

std::vector<CompositePattern> patterns() {
  std::vector<CompositePattern> table;
  add_residuals(table);

  const Pattern dense = binary("nn.dense");
  table.push_back({"cutlass.dense_bias_gelu_fp16", gelu(with_bias(dense), true), check_gemm});
  table.push_back({"cutlass.dense_bias_gelu_fp32", gelu(with_bias(dense), false), check_gemm});
  table.push_back({"cutlass.dense_bias_relu", relu(with_bias(dense)), check_gemm});
  table.push_back({"cutlass.dense_bias", with_bias(dense), check_gemm});
  table.push_back({"cutlass.dense", dense, check_gemm});

  table.push_back({"cutlass.batch_matmul", binary("nn.batch_matmul"), check_batch_matmul});

  for (const Named& convolution : biased_convolutions()) {
    table.push_back({convolution.name, convolution.pattern, check_conv2d});
  }
  table.push_back({"cutlass.conv2d", binary("nn.conv2d"), check_conv2d});
  table.push_back(
      {"cutlass.conv2d_transpose", binary("nn.conv2d_transpose"), check_conv2d_transpose});
  table.push_back({"cutlass.conv2d_backward_weight", binary("nn.conv2d_backward_weight"),
                   check_conv2d_backward_weight});
  return table;
}

}  // namespace tessera::backends::cutlass
