// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/records/layout.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

Result<Type> infer_space_to_depth(const InferArgs& args) {
  const auto p = relay::read_attrs<SpaceToDepthAttrs>(args.attrs);
  const Type& x = args.operands[0];
  TESSERA_TRY_VOID(expect_rank(args, 0, 4));
  TESSERA_TRY(const Places at, layout_places(args, p.layout, "NC", 2));
  if (p.block_size < 1)
    return refuse(args, Code::kWrongAttribute, "has block_size {}", p.block_size);
  const Dim block(p.block_size);
  Shape space;
  for (std::size_t s : at.spatial) {
    const Dim& d = x.shape()[s];
    if (provably_equal(floor_mod(d, block), Dim(0)) == Tri::kNo) {
      return refuse(args, Code::kShapeMismatch, "cannot cut {} elements into blocks of {}",
                    to_string(d), p.block_size);
    }
    TESSERA_TRY_VOID(none_left(args, d, block, "elements left over by the blocks and none"));
    space.push_back(floor_div(d, block));
  }
  return tensor_type(at.stored(x.shape()[at.first], x.shape()[at.second] * block * block, space),
                     x.dtype());
}

template <class T>
std::vector<T> source(const SpaceToDepthAttrs& p, const Places& at, const std::vector<T>& i,
                      const T& channels) {
  using tir::floor_div;
  using tir::floor_mod;
  const T block(p.block_size);
  const T inner = floor_div(i[at.second], channels);
  const T y = i[at.spatial[0]] * block + floor_div(inner, block);
  const T x = i[at.spatial[1]] * block + floor_mod(inner, block);
  return at.stored(i[at.first], floor_mod(i[at.second], channels), std::vector<T>{y, x});
}

std::vector<Tensor> eval_space_to_depth(const EvalArgs& args) {
  const auto p = relay::read_attrs<SpaceToDepthAttrs>(args.attrs);
  const Places at = known_places(p.layout, "NC", 2);
  const Tensor& data = args.operands[0];
  const Ints strides = row_major_strides(data.shape);
  return {gather_elements(data, static_shape(args.result), [&](const Counter& c) {
    const Ints from = source<std::int64_t>(p, at, c.index(), data.shape[at.second]);
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < 4; ++d) flat += from[d] * strides[d];
    return flat;
  })};
}

Definitions compute_space_to_depth(const ComputeArgs& args) {
  const auto p = relay::read_attrs<SpaceToDepthAttrs>(args.attrs);
  const Places at = known_places(p.layout, "NC", 2);
  const TensorExpr& data = args.operands[0];
  return define(args, "y",
                [&](const Indices& i) { return data(source(p, at, i, data.shape()[at.second])); });
}

}  // namespace

constexpr Operator kSpaceToDepth{
    .name = "nn.space_to_depth",
    .doc =
        "A block of b x b places becomes b x b channels, the place in the block being the outer "
        "part of the "
        "channel number   data: T[n, c, h * b, w * b] -> T[n, b * b * c, h, w]",
    .operands = {"data"},
    .attrs = relay::attr_schema<SpaceToDepthAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_space_to_depth,
    .eval = eval_space_to_depth,
    .compute = compute_space_to_depth,
    .samples = {"nn.space_to_depth(float32[1,2,4,6], block_size=2)",
                "nn.space_to_depth(float16[2,1,3,3], block_size=3)",
                "nn.space_to_depth(int8[1,4,2,3], block_size=2, layout=\"NHWC\")"},
};

}  // namespace tessera::ops
