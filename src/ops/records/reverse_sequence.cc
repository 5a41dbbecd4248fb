// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

struct Axes {
  std::int64_t sequence = 0, batch = 0;
};
Axes axes_of_reverse_sequence(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<ReverseSequenceAttrs>(attrs);
  return {front_axis(p.seq_axis, rank), front_axis(p.batch_axis, rank)};
}

Result<Type> infer_reverse_sequence(const InferArgs& args) {
  const auto p = relay::read_attrs<ReverseSequenceAttrs>(args.attrs);
  const Type &data = args.operands[0], &lengths = args.operands[1];
  TESSERA_TRY_VOID(expect_int(args, 1));
  TESSERA_TRY_VOID(expect_rank(args, 1, 1));
  TESSERA_TRY_VOID(normal_axis(args, p.seq_axis, data.rank()));
  TESSERA_TRY(const std::int64_t batch, normal_axis(args, p.batch_axis, data.rank()));
  TESSERA_TRY_VOID(
      agreed(args, data.shape()[batch], lengths.shape()[0], "sizes of batch and lengths"));
  return data;
}

std::vector<Tensor> eval_reverse_sequence(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const Elements<std::int64_t> lengths = values_of<std::int64_t>(args.operands[1]);
  const Axes axes = axes_of_reverse_sequence(args.attrs, data.shape.size());
  const Ints strides = row_major_strides(data.shape);
  return {gather_elements(data, data.shape, [&](const Counter& c) {
    const std::int64_t i = c[axes.sequence];
    const std::int64_t length = std::min(lengths[c[axes.batch]], data.shape[axes.sequence]);
    return c.offset(strides) + (i < length ? length - 1 - 2 * i : 0) * strides[axes.sequence];
  })};
}

Definitions compute_reverse_sequence(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const Axes axes = axes_of_reverse_sequence(args.attrs, data.rank());
  return define(args, "y", [&](const Indices& i) {
    const Expr length =
        tir::min(tir::cast(args.operands[1]({i[axes.batch]}), kInt64), data.shape()[axes.sequence]);
    const Expr& at = i[axes.sequence];
    Indices from = i;
    from[axes.sequence] = tir::select(tir::lt(at, length), length - 1 - at, at);
    return data(from);
  });
}

}  // namespace

constexpr Operator kReverseSequence{
    .name = "reverse_sequence",
    .doc =
        "The first seq_lengths[b] elements along seq_axis of batch element b from back to front; "
        "all of them where it is larger than their number"
        "   data: T[d...], seq_lengths: int[d[batch_axis]] -> T[d...]",
    .operands = {"data", "seq_lengths"},
    .attrs = relay::attr_schema<ReverseSequenceAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_reverse_sequence,
    .eval = eval_reverse_sequence,
    .compute = compute_reverse_sequence,
    .samples = {"reverse_sequence(float32[3,4], int64[3]{0..4})",
                "reverse_sequence(int32[4,3,2], int64[3]{1..4}, seq_axis=0, batch_axis=1)",
                "reverse_sequence(float16[1,5], int32[1]{5..5})",
                "reverse_sequence(float32[3,4], int64[3]{-9..9})"},
};

}  // namespace tessera::ops
