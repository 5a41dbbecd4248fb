// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/records/layout.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

Result<Type> infer_depth_to_space(const InferArgs& args) {
  const auto p = relay::read_attrs<DepthToSpaceAttrs>(args.attrs);
  const Type& x = args.operands[0];
  TESSERA_TRY_VOID(expect_rank(args, 0, 4));
  TESSERA_TRY(const Places at, layout_places(args, p.layout, "NC", 2));
  if (p.block_size < 1 || (p.mode != "DCR" && p.mode != "CRD")) {
    return refuse(args, Code::kWrongAttribute, "has block_size {} and mode \"{}\"", p.block_size,
                  p.mode);
  }
  const Dim block(p.block_size), channels = x.shape()[at.second];
  if (provably_equal(floor_mod(channels, block * block), Dim(0)) == Tri::kNo) {
    return refuse(args, Code::kShapeMismatch, "cannot spread {} channels over blocks of {}x{}",
                  to_string(channels), p.block_size, p.block_size);
  }
  TESSERA_TRY_VOID(
      none_left(args, channels, block * block, "channels left over by the blocks and none"));
  const Shape space{x.shape()[at.spatial[0]] * block, x.shape()[at.spatial[1]] * block};
  return tensor_type(at.stored(x.shape()[at.first], floor_div(channels, block * block), space),
                     x.dtype());
}

// The operand's index; works on numbers and on expressions.
template <class T>
std::vector<T> source(const DepthToSpaceAttrs& p, const Places& at, const std::vector<T>& i,
                      const T& channels) {
  using tir::floor_div;
  using tir::floor_mod;
  const T block(p.block_size);
  const T &c = i[at.second], &y = i[at.spatial[0]], &x = i[at.spatial[1]];
  const T inner = floor_mod(y, block) * block + floor_mod(x, block);
  const T channel =
      p.mode == "DCR" ? inner * channels + c : c * T(p.block_size * p.block_size) + inner;
  return at.stored(i[at.first], channel, std::vector<T>{floor_div(y, block), floor_div(x, block)});
}

std::vector<Tensor> eval_depth_to_space(const EvalArgs& args) {
  const auto p = relay::read_attrs<DepthToSpaceAttrs>(args.attrs);
  const Places at = known_places(p.layout, "NC", 2);
  const Ints shape = static_shape(args.result), strides = row_major_strides(args.operands[0].shape);
  return {gather_elements(args.operands[0], shape, [&](const Counter& c) {
    const Ints from = source<std::int64_t>(p, at, c.index(), shape[at.second]);
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < 4; ++d) flat += from[d] * strides[d];
    return flat;
  })};
}

Definitions compute_depth_to_space(const ComputeArgs& args) {
  const auto p = relay::read_attrs<DepthToSpaceAttrs>(args.attrs);
  const Places at = known_places(p.layout, "NC", 2);
  const Expr channels = result_shape(args)[at.second];
  return define(args, "y",
                [&](const Indices& i) { return args.operands[0](source(p, at, i, channels)); });
}

}  // namespace

constexpr Operator kDepthToSpace{
    .name = "nn.depth_to_space",
    .doc =
        "b x b channels become a block of b x b places; the channels of a block are the outer part "
        "of the "
        "channel number (DCR) or the inner one (CRD)   data: T[n, c * b * b, h, w] -> T[n, c, h * "
        "b, w * b]",
    .operands = {"data"},
    .attrs = relay::attr_schema<DepthToSpaceAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_depth_to_space,
    .eval = eval_depth_to_space,
    .compute = compute_depth_to_space,
    .samples = {"nn.depth_to_space(float32[1,8,2,3], block_size=2)",
                "nn.depth_to_space(float16[2,9,1,2], block_size=3, mode=\"CRD\")",
                "nn.depth_to_space(int8[1,2,3,4], block_size=2, layout=\"NHWC\")"},
};

}  // namespace tessera::ops
