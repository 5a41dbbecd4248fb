// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/index.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/counted_index.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

Result<Type> infer_gather_nd(const InferArgs& args) {
  const Type &data = args.operands[0], &indices = args.operands[1];
  TESSERA_TRY_VOID(expect_int(args, 1));
  TESSERA_TRY_VOID(expect_min_rank(args, 1, 1));
  const auto p = relay::read_attrs<GatherNdAttrs>(args.attrs);
  const auto depth = indices.shape()[0].as_constant();
  if (!depth) return refuse(args, Code::kNotSupported, "needs indices whose first size is known");
  const std::int64_t batch = p.batch_dims;
  if (batch < 0 || batch >= static_cast<std::int64_t>(indices.rank()) || *depth < 0 ||
      *depth > static_cast<std::int64_t>(data.rank()) - batch) {
    return refuse(args, Code::kShapeMismatch,
                  "cannot index {} with {} numbers after {} batch dimensions", to_string(data),
                  *depth, batch);
  }
  Shape shape(indices.shape().begin() + 1, indices.shape().end());
  for (std::int64_t b = 0; b < batch; ++b) {
    TESSERA_TRY(shape[b], agreed(args, data.shape()[b], shape[b], "batch sizes"));
  }
  shape.insert(shape.end(), data.shape().begin() + batch + *depth, data.shape().end());
  for (std::int64_t k = 0; k < *depth; ++k) {
    TESSERA_TRY_VOID(has_choice(args, data.shape()[batch + k], shape));
  }
  return tensor_type(std::move(shape), data.dtype());
}

std::vector<Tensor> eval_gather_nd(const EvalArgs& args) {
  const Tensor &data = args.operands[0], &indices = args.operands[1];
  const Elements<std::int64_t> numbers = values_of<std::int64_t>(indices);
  const std::int64_t depth = indices.shape[0];
  const std::int64_t batch = relay::read_attrs<GatherNdAttrs>(args.attrs).batch_dims;
  const Ints strides = row_major_strides(data.shape),
             index_strides = row_major_strides(indices.shape);
  const std::size_t picked = indices.shape.size() - 1;
  return {gather_elements(data, static_shape(args.result), [&](const Counter& c) {
    std::int64_t which = 0, at = 0;
    for (std::size_t d = 0; d < picked; ++d) which += c[d] * index_strides[d + 1];
    for (std::int64_t b = 0; b < batch; ++b) at += c[b] * strides[b];
    for (std::int64_t k = 0; k < depth; ++k) {
      at += counted_index(numbers[which + k * index_strides[0]], data.shape[batch + k]) *
            strides[batch + k];
    }
    for (std::size_t d = batch + depth; d < data.shape.size(); ++d) {
      at += c[picked + d - batch - depth] * strides[d];
    }
    return at;
  })};
}

Definitions compute_gather_nd(const ComputeArgs& args) {
  const TensorExpr &data = args.operands[0], &indices = args.operands[1];
  const std::int64_t depth = *tir::as_int(indices.shape()[0]);
  const std::int64_t batch = relay::read_attrs<GatherNdAttrs>(args.attrs).batch_dims;
  const std::size_t picked = indices.rank() - 1;
  return define(args, "y", [&](const Indices& i) {
    Indices at(i.begin(), i.begin() + batch);
    for (std::int64_t k = 0; k < depth; ++k) {
      Indices which{Expr(k)};
      which.insert(which.end(), i.begin(), i.begin() + picked);
      at.push_back(counted_index(tir::cast(indices(which), kInt64), data.shape()[batch + k]));
    }
    at.insert(at.end(), i.begin() + picked, i.end());
    return data(at);
  });
}

}  // namespace

constexpr Operator kGatherNd{
    .name = "gather_nd",
    .doc =
        "y[b..., i..., d...] = data[b..., indices[0, b..., i...], ..., indices[m - 1, b..., i...], "
        "d...]; "
        "negative indices count from the end, those outside are the nearest element   data: "
        "T[b..., n0, ..., d...], indices: int[m, b..., "
        "i...] "
        "-> T[b..., i..., d...]",
    .operands = {"data", "indices"},
    .attrs = relay::attr_schema<GatherNdAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_gather_nd,
    .eval = eval_gather_nd,
    .compute = compute_gather_nd,
    .samples = {"gather_nd(float32[3,4,2], int64[2,5]{0..2})",
                "gather_nd(float16[3,4], int32[1,2,2]{-3..2})",
                "gather_nd(float32[2,3,4], int64[1,2,3]{0..2}, batch_dims=1)",
                "gather_nd(int64[3,4], int64[2]{0..2})",
                "gather_nd(float32[3,2], int64[2,4]{-9..9})"},
};

}  // namespace tessera::ops
