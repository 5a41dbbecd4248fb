// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/create.h"
#include "ops/evaluation/evaluate.h"
#include "ops/evaluation/size_values.h"
#include "ops/records/dynamic_shape.h"
#include "ops/records/record.h"
#include "tir/dim_vars.h"

namespace tessera::ops {

namespace {

Result<Type> infer_sizes(const InferArgs& args) {
  const auto p = relay::read_attrs<SizesAttrs>(args.attrs);
  for (const std::string& text : p.values) {
    if (size_of_text(text)) continue;
    return refuse(args, Code::kWrongAttribute,
                  "has \"{}\", which is neither a number nor a symbol nor `(expression)`", text);
  }
  if (!p.scalar) return tensor_type({Dim(static_cast<std::int64_t>(p.values.size()))}, kInt64);
  if (p.values.size() == 1) return tensor_type({}, kInt64);
  return refuse(args, Code::kWrongAttribute, "is a scalar and has {} values", p.values.size());
}

std::vector<Tensor> eval_sizes(const EvalArgs& args) {
  Ints values;
  for (const std::string& text : relay::read_attrs<SizesAttrs>(args.attrs).values) {
    const auto n = size_of_text(text)->as_constant();
    TESSERA_CHECK(n.has_value(), "the size `{}` has no value here", text);
    values.push_back(*n);
  }
  return {tensor_of(args.result, values)};
}

// A value need not be a size: a slice may begin at -seq. What is a dimension of a kernel is taken
// to be no less than 0, so a value that may be is a difference of two that are not.
Expr value_of(const ComputeArgs& args, const std::string& text) {
  const Dim value = *size_of_text(text), positive = max(value, Dim(0));
  if (value.is_constant() || provably_equal(positive, value) == Tri::kYes) {
    return args.dims.expr(value);
  }
  return args.dims.expr(positive) - args.dims.expr(max(Dim(0) - value, Dim(0)));
}

Definitions compute_sizes(const ComputeArgs& args) {
  const auto p = relay::read_attrs<SizesAttrs>(args.attrs);
  if (p.scalar)
    return define(args, "y", [&](const Indices&) { return value_of(args, p.values[0]); });
  return define_sizes(p.values.size(), [&](std::size_t k) { return value_of(args, p.values[k]); });
}

}  // namespace

constexpr Operator kSizes{
    .name = "sizes",
    .doc =
        "y[k] = the value of a size at run time: a number, a symbol or `(expression)` of symbols "
        "of "
        "the module; one alone may be a scalar   -> int64[n] or int64[]",
    .attrs = relay::attr_schema<SizesAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_sizes,
    .eval = eval_sizes,
    .compute = compute_sizes,
    .samples = {"sizes(values=[\"3\",\"4\"])", "sizes(values=[])",
                "sizes(values=[\"5\"], scalar=True)"},
};

}  // namespace tessera::ops
