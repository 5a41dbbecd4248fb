// SPDX-License-Identifier: Apache-2.0
#include "ops/records/check_indices.h"

#include <fmt/format.h>

#include "ops/evaluation/evaluate.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

// How many indices in a row count along one axis, where there are `count`.
std::int64_t indices_of_an_axis(const CheckIndicesAttrs& p, std::int64_t count) {
  return std::max<std::int64_t>(count / static_cast<std::int64_t>(p.axes.size()), 1);
}

// Checks constant indices; `sizes` may be symbolic, and are right for what is constant then.
Result<void> check_constant(const InferArgs& args, const CheckIndicesAttrs& p, const Shape& sizes) {
  if (args.values.empty() || args.values[0] == nullptr) return {};
  const Ints indices = *constant_ints(args, 0);
  const std::int64_t each = indices_of_an_axis(p, static_cast<std::int64_t>(indices.size()));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t k = p.axes.size() == 1 ? 0 : i / static_cast<std::size_t>(each);
    const auto size = sizes[k].as_constant();
    if (!size || (indices[i] >= -*size && indices[i] < *size)) continue;
    return refuse(args, Code::kIndexOutOfRange,
                  "finds the index {} at element {} of the indices: axis {} has {} elements",
                  indices[i], i, p.axes[k], *size);
  }
  return {};
}

// The sizes that the indices must fit, one for each of `axes`.
Result<Shape> sizes_of(const InferArgs& args, const CheckIndicesAttrs& p) {
  if (args.operands.size() == 1) {
    if (p.sizes.size() != p.axes.size()) {
      return refuse(args, Code::kWrongAttribute, "has {} axes and {} sizes", p.axes.size(),
                    p.sizes.size());
    }
    return Shape(p.sizes.begin(), p.sizes.end());
  }
  if (!p.sizes.empty()) {
    return refuse(args, Code::kWrongAttribute, "has `sizes` beside a tensor that has them");
  }
  Shape sizes;
  for (const std::int64_t a : p.axes) {
    TESSERA_TRY(const std::int64_t axis, normal_axis(args, a, args.operands[1].rank()));
    sizes.push_back(args.operands[1].shape()[static_cast<std::size_t>(axis)]);
  }
  return sizes;
}

Result<Type> infer_check_indices(const InferArgs& args) {
  const auto p = relay::read_attrs<CheckIndicesAttrs>(args.attrs);
  const Type& indices = args.operands[0];
  TESSERA_TRY_VOID(expect_int(args, 0));
  if (p.axes.empty()) return refuse(args, Code::kWrongAttribute, "has no axis");
  const auto count = static_cast<std::int64_t>(p.axes.size());
  if (count > 1 && (indices.rank() == 0 || !(indices.shape()[0] == Dim(count)))) {
    return refuse(args, Code::kShapeMismatch, "has {} axes for indices {}", count,
                  to_string(indices));
  }
  TESSERA_TRY(const Shape sizes, sizes_of(args, p));
  TESSERA_TRY_VOID(check_constant(args, p, sizes));
  return indices;
}

std::int64_t size_of_check_indices(const EvalArgs& args, const CheckIndicesAttrs& p,
                                   std::size_t k) {
  if (args.operands.size() == 1) return p.sizes[k];
  const Ints& shape = args.operands[1].shape;
  return shape[static_cast<std::size_t>(front_axis(p.axes[k], shape.size()))];
}

std::vector<Tensor> eval_check_indices(const EvalArgs& args) {
  const auto p = relay::read_attrs<CheckIndicesAttrs>(args.attrs);
  const auto indices = values_of<std::int64_t>(args.operands[0]);
  const std::int64_t each = indices_of_an_axis(p, static_cast<std::int64_t>(indices.size()));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t k = p.axes.size() == 1 ? 0 : i / static_cast<std::size_t>(each);
    const std::int64_t size = size_of_check_indices(args, p, k);
    if (indices[i] >= -size && indices[i] < size) continue;
    throw EvaluationFailure(
        Code::kIndexOutOfRange,
        fmt::format("the index {} at element {} of the indices lies outside of axis {}, which "
                    "has {} elements",
                    indices[i], i, p.axes[k], size));
  }
  return {args.operands[0]};
}

Definitions compute_check_indices(const ComputeArgs& args) {
  return define(args, "y", [&](const Indices& i) { return args.operands[0](i); });
}

}  // namespace

IndexedAxis indexed_axis(const CheckIndicesAttrs& attrs, const std::vector<Expr>& data,
                         std::size_t k) {
  if (!attrs.sizes.empty()) return {Expr(attrs.axes[k]), Expr(attrs.sizes[k])};
  const std::int64_t axis = front_axis(attrs.axes[k], data.size());
  return {Expr(axis), data[static_cast<std::size_t>(axis)]};
}

IndexedAxis indexed_axis(const CheckIndicesAttrs& attrs, const std::vector<Expr>& data,
                         const Indices& at) {
  IndexedAxis found = indexed_axis(attrs, data, attrs.axes.size() - 1);
  for (std::size_t k = attrs.axes.size() - 1; k-- > 0;) {
    const IndexedAxis mine = indexed_axis(attrs, data, k);
    const Expr chosen = tir::eq(at[0], Expr(static_cast<std::int64_t>(k)));
    found.axis = tir::select(chosen, mine.axis, found.axis);
    found.size = tir::select(chosen, mine.size, found.size);
  }
  return found;
}

Expr is_inside(const Expr& index, const Expr& size) {
  return tir::logical_and(tir::le(Expr(0) - size, index), tir::lt(index, size));
}

constexpr Operator kCheckIndices{
    .name = "check_indices",
    .doc =
        "The indices as they are, each of which must be in [-n, n): one outside ends the run. n is "
        "the size of data along the axis, or given; with several axes, those of slice k of the "
        "first dimension are along axis k. Gathers and scatters of ONNX have it before them, and "
        "count negative ones from the end themselves   "
        "indices: int[i...], data: T[d...] -> int[i...]",
    .operands = {"indices", "data"},
    .optional_operands = 1,
    .attrs = relay::attr_schema<CheckIndicesAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_check_indices,
    .eval = eval_check_indices,
    .compute = compute_check_indices,
    .samples = {"check_indices(int64[2,3]{-4..3}, float32[4,2], axes=[0])",
                "check_indices(int32[5]{-7..6}, axes=[1], sizes=[7])",
                "check_indices(int64[2,4]{-3..2}, float16[5,3,4], axes=[1, -1])",
                "check_indices(int64[3,2,2]{0..2}, axes=[0, 1, 2], sizes=[3, 4, 5])",
                "check_indices(int64[]{-2..1}, axes=[0], sizes=[2])",
                "check_indices(int64[0,2]{0..0}, axes=[0], sizes=[0])",
                "check_indices(uint8[40]{0..200}, axes=[0], sizes=[201])"},
};

}  // namespace tessera::ops
