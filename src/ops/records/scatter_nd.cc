// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/records/scatter.h"

namespace tessera::ops {
namespace {

Result<Type> infer_scatter_nd(const InferArgs& args) {
  const Type &data = args.operands[0], &indices = args.operands[1], &updates = args.operands[2];
  TESSERA_TRY_VOID(expect_int(args, 1));
  TESSERA_TRY_VOID(expect_min_rank(args, 1, 1));
  TESSERA_TRY_VOID(expect_scatter_mode(args, relay::read_attrs<ScatterNdAttrs>(args.attrs).mode));
  const auto depth = indices.shape()[0].as_constant();
  if (!depth || *depth < 0 || *depth > static_cast<std::int64_t>(data.rank())) {
    return refuse(args, Code::kShapeMismatch, "cannot index {} with indices {}", to_string(data),
                  to_string(indices));
  }
  Shape wanted(indices.shape().begin() + 1, indices.shape().end());
  wanted.insert(wanted.end(), data.shape().begin() + *depth, data.shape().end());
  TESSERA_TRY_VOID(expect_rank(args, 2, wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    TESSERA_TRY_VOID(
        agreed(args, wanted[i], updates.shape()[i], "sizes of updates and their places"));
  }
  if (data.dtype() != updates.dtype()) {
    return refuse(args, Code::kDtypeMismatch, "cannot update {} with {}", to_string(data.dtype()),
                  to_string(updates.dtype()));
  }
  return data;
}

std::vector<Tensor> eval_scatter_nd(const EvalArgs& args) {
  const std::string mode = relay::read_attrs<ScatterNdAttrs>(args.attrs).mode;
  const Tensor &data = args.operands[0], &index = args.operands[1], &update = args.operands[2];
  const Ints strides = row_major_strides(data.shape);
  const Elements<std::int64_t> indices = values_of<std::int64_t>(index);
  const Ints index_strides = row_major_strides(index.shape);
  const std::int64_t depth = index.shape[0];
  const std::size_t places = index.shape.size() - 1;
  return in_domain(data.dtype, [&]<class T>(T) -> std::vector<Tensor> {
    Elements<T> out = values_of<T>(data);
    const Elements<T> updates = values_of<T>(update);
    std::size_t next = 0;
    for (Counter c(update.shape); c; ++c, ++next) {
      std::int64_t which = 0, at = 0;
      for (std::size_t d = 0; d < places; ++d) which += c[d] * index_strides[d + 1];
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int64_t i = indices[which + k * index_strides[0]];
        at += checked_index(i, data.shape[k]) * strides[k];
      }
      for (std::size_t d = depth; d < data.shape.size(); ++d)
        at += c[places + d - depth] * strides[d];
      out[at] = scattered(out[at], updates[next], mode);
    }
    return {tensor_of(args.result, out)};
  });
}

Definitions compute_scatter_nd(const ComputeArgs& args) {
  const std::string mode = relay::read_attrs<ScatterNdAttrs>(args.attrs).mode;
  const TensorExpr &data = args.operands[0], &indices = args.operands[1];
  const std::int64_t depth = *tir::as_int(indices.shape()[0]);
  std::vector<IterAxis> places;
  for (std::size_t d = 1; d < indices.rank(); ++d) {
    places.push_back(tir::reduce_axis(indices.shape()[d], fmt::format("u{}", d - 1)));
  }
  if (places.empty()) places.push_back(tir::reduce_axis(1, "u"));
  const auto hits = [&](const Indices& i, const Indices& u) {
    std::vector<Expr> conditions;
    for (std::int64_t k = 0; k < depth; ++k) {
      Indices at{Expr(k)};
      at.insert(at.end(), u.begin(), u.begin() + (indices.rank() - 1));
      const Expr chosen = tir::cast(indices(at), kInt64);
      const Expr wrapped = tir::select(tir::lt(chosen, 0), chosen + data.shape()[k], chosen);
      conditions.push_back(tir::eq(wrapped, i[k]));
    }
    return all_of(std::move(conditions));
  };
  const auto update = [&](const Indices& i, const Indices& u) {
    Indices at(u.begin(), u.begin() + (indices.rank() - 1));
    at.insert(at.end(), i.begin() + depth, i.end());
    return args.operands[2](at);
  };
  return compute_scatter(args, mode, places, hits, update);
}

}  // namespace

constexpr Operator kScatterNd{
    .name = "scatter_nd",
    .doc =
        "A copy of data where y[indices[0, i...], ..., indices[m - 1, i...], d...] is updated with "
        "updates[i..., d...]: replaced, or by add, mul, min, max   data: T[n0, ..., d...], "
        "indices: "
        "int[m, i...], updates: T[i..., d...] -> T[n0, ..., d...]",
    .operands = {"data", "indices", "updates"},
    .attrs = relay::attr_schema<ScatterNdAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_scatter_nd,
    .eval = eval_scatter_nd,
    .compute = compute_scatter_nd,
    .runtime_symbol = "tessera_scatter_nd",
    .samples = {"scatter_nd(float32[4,3], int64[1,2]{0..3}, float32[2,3])",
                "scatter_nd(float16[3,4], int32[2,5]{-3..2}, float16[5], mode=\"add\")",
                "scatter_nd(int64[6], int64[1,9]{0..5}, int64[9])",
                "scatter_nd(float32[2,3,2], int64[2,2,2]{0..1}, float32[2,2,2], mode=\"min\")"},
};

}  // namespace tessera::ops
