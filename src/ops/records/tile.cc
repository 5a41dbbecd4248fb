// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_tile(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<TileAttrs>(args.attrs);
  const std::size_t rank = std::max(data.rank(), p.reps.size());
  Shape shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim d = i < rank - data.rank() ? Dim(1) : data.shape()[i - (rank - data.rank())];
    const std::int64_t times = i < rank - p.reps.size() ? 1 : p.reps[i - (rank - p.reps.size())];
    if (times < 0) return refuse(args, Code::kWrongAttribute, "cannot repeat {} times", times);
    shape[i] = d * Dim(times);
  }
  return tensor_type(std::move(shape), data.dtype());
}

std::vector<Tensor> eval_tile(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const Ints strides = row_major_strides(data.shape);
  return {gather_elements(data, static_shape(args.result), [&](const Counter& c) {
    const std::size_t skipped = c.index().size() - data.shape.size();
    std::int64_t at = 0;
    for (std::size_t d = 0; d < data.shape.size(); ++d) {
      at += c[d + skipped] % data.shape[d] * strides[d];
    }
    return at;
  })};
}

Definitions compute_tile(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  return define(args, "y", [&](const Indices& i) {
    const std::size_t skipped = i.size() - data.rank();
    Indices at;
    for (std::size_t d = 0; d < data.rank(); ++d) {
      at.push_back(tir::floor_mod(i[d + skipped], data.shape()[d]));
    }
    return data(at);
  });
}

}  // namespace

constexpr Operator kTile{
    .name = "tile",
    .doc =
        "data repeated reps[k] times along dimension k, missing ones added in front"
        "   data: T[d...] -> T[d * reps...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<TileAttrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_tile,
    .eval = eval_tile,
    .compute = compute_tile,
    .samples = {"tile(float32[2,3], reps=[2,2])", "tile(int64[3], reps=[2,1,2])",
                "tile(float16[2,3], reps=[3])", "tile(bool[2], reps=[0])"},
};

}  // namespace tessera::ops
