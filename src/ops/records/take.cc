// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/attrs/index.h"
#include "ops/records/reshape.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

Result<Type> infer_take(const InferArgs& args) {
  const Type &data = args.operands[0], &indices = args.operands[1];
  const auto p = relay::read_attrs<TakeAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_int(args, 1));
  if (p.mode != "clip" && p.mode != "wrap" && p.mode != "fast") {
    return refuse(args, Code::kWrongAttribute, "has mode \"{}\"; it is clip, wrap or fast", p.mode);
  }
  const auto is_zero = [](const Dim& d) { return d == Dim(0); };
  if (!p.axis) {
    if (std::ranges::any_of(data.shape(), is_zero) &&
        std::ranges::none_of(indices.shape(), is_zero)) {
      return refuse(args, Code::kShapeMismatch, "takes from a tensor without elements");
    }
    TESSERA_TRY_VOID(has_choice(args, num_elements(data.shape()), indices.shape()));
    return tensor_type(indices.shape(), data.dtype());
  }
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, *p.axis, data.rank()));
  const std::int64_t batch = front_axis(p.batch_dims, indices.rank());
  if (batch < 0 || batch > axis || batch > static_cast<std::int64_t>(indices.rank())) {
    return refuse(args, Code::kWrongAttribute,
                  "has batch_dims {} for axis {} and indices of rank {}", p.batch_dims, axis,
                  indices.rank());
  }
  Shape shape(data.shape().begin(), data.shape().begin() + axis);
  for (std::int64_t b = 0; b < batch; ++b) {
    TESSERA_TRY(shape[b], agreed(args, shape[b], indices.shape()[b], "batch sizes"));
  }
  shape.insert(shape.end(), indices.shape().begin() + batch, indices.shape().end());
  shape.insert(shape.end(), data.shape().begin() + axis + 1, data.shape().end());
  if (is_zero(data.shape()[axis]) && std::ranges::none_of(shape, is_zero)) {
    return refuse(args, Code::kShapeMismatch, "takes from axis {}, which has no element", axis);
  }
  TESSERA_TRY_VOID(has_choice(args, data.shape()[axis], shape));
  return tensor_type(std::move(shape), data.dtype());
}

std::int64_t accepted_index(std::int64_t i, std::int64_t size, const std::string& mode) {
  if (mode == "wrap") return tir::floor_mod(i, size);
  return std::clamp<std::int64_t>(i, 0, size - 1);
}

// How the indices of operands and result divide: outer (with batch), taken, inner.
struct Split {
  std::size_t axis = 0, batch = 0, taken = 0;  // taken: dimensions that come from the indices
};
Split split_of(const TakeAttrs& p, std::size_t data_rank, std::size_t index_rank) {
  Split s;
  s.axis = static_cast<std::size_t>(front_axis(p.axis.value_or(0), data_rank));
  s.batch = static_cast<std::size_t>(front_axis(p.batch_dims, index_rank));
  s.taken = index_rank - s.batch;
  return s;
}

std::vector<Tensor> eval_take(const EvalArgs& args) {
  const auto p = relay::read_attrs<TakeAttrs>(args.attrs);
  const Elements<std::int64_t> indices = values_of<std::int64_t>(args.operands[1]);
  const Tensor data =
      p.axis ? args.operands[0] : reshaped(args.operands[0], {args.operands[0].num_elements()});
  const Split s = split_of(p, data.shape.size(), args.operands[1].shape.size());
  const std::int64_t size = data.shape[s.axis];
  const Ints strides = row_major_strides(data.shape);
  const Ints index_strides = row_major_strides(args.operands[1].shape);
  return {gather_elements(data, static_shape(args.result), [&](const Counter& c) {
    std::int64_t which = 0, at = 0;
    for (std::size_t b = 0; b < s.batch; ++b) which += c[b] * index_strides[b];
    for (std::size_t d = 0; d < s.taken; ++d) which += c[s.axis + d] * index_strides[s.batch + d];
    for (std::size_t d = 0; d < s.axis; ++d) at += c[d] * strides[d];
    for (std::size_t d = s.axis + 1; d < data.shape.size(); ++d)
      at += c[d + s.taken - 1] * strides[d];
    return at + accepted_index(indices[which], size, p.mode) * strides[s.axis];
  })};
}

Definitions compute_take(const ComputeArgs& args) {
  const auto p = relay::read_attrs<TakeAttrs>(args.attrs);
  const TensorExpr &data = args.operands[0], &indices = args.operands[1];
  Expr total = 1;
  for (const Expr& d : data.shape()) total = total * d;
  const Split s = split_of(p, p.axis ? data.rank() : 1, indices.rank());
  const Expr size = p.axis ? data.shape()[s.axis] : total;
  const auto accepted = [&](Expr i) {
    i = tir::cast(std::move(i), kInt64);
    // The model of whoever trusts its indices may be anybody's: `fast` is bounded, too.
    return p.mode == "wrap" ? tir::floor_mod(i, size) : tir::max(tir::min(i, size - 1), 0);
  };
  return define(
      args, "y",
      [&](const Indices& i) {
        Indices which(i.begin(), i.begin() + s.batch);
        which.insert(which.end(), i.begin() + s.axis, i.begin() + s.axis + s.taken);
        const Expr chosen = accepted(indices(which));
        if (!p.axis) return data(reshaped_index(data.shape(), {total}, {chosen}));
        Indices at(i.begin(), i.begin() + s.axis);
        at.push_back(chosen);
        at.insert(at.end(), i.begin() + s.axis + s.taken, i.end());
        return data(at);
      },
      "take");
}

}  // namespace

constexpr Operator kTake{
    .name = "take",
    .doc =
        "y[a..., i..., b...] = data[a..., indices[i...], b...] along `axis`; mode clip bounds the "
        "indices, wrap counts them modulo the size (so -1 is the last), fast is for those that are "
        "inside; the first batch_dims dimensions are common   data: T[a..., n, b...], indices: "
        "int[i...] -> T[a..., i..., b...]",
    .operands = {"data", "indices"},
    .attrs = relay::attr_schema<TakeAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_take,
    .eval = eval_take,
    .compute = compute_take,
    .samples = {"take(float32[5,3], int64[2]{0..4}, axis=0)",
                "take(float16[2,4,3], int32[2,2]{-6..9}, axis=1)",
                "take(int64[7], int64[]{0..6}, axis=0, mode=\"fast\")",
                "take(float32[2,3], int32[4]{0..5})",
                "take(float32[2,4,3], int32[2,5]{-4..3}, axis=-2, batch_dims=1, mode=\"wrap\")",
                "take(bool[3,2], int32[0], axis=1)"},
};

}  // namespace tessera::ops
