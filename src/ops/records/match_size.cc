// SPDX-License-Identifier: Apache-2.0
#include "ops/records/elementwise.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

struct MatchSizeAttrs {
  std::int64_t axis = 0, like_axis = 0;
  static constexpr auto fields =
      std::tuple{relay::required_attr("axis", &MatchSizeAttrs::axis),
                 relay::required_attr("like_axis", &MatchSizeAttrs::like_axis)};
};

Result<Type> infer_match_size(const InferArgs& args) {
  const Type &data = args.operands[0], &like = args.operands[1];
  const auto p = relay::read_attrs<MatchSizeAttrs>(args.attrs);
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, data.rank()));
  TESSERA_TRY(const std::int64_t other, normal_axis(args, p.like_axis, like.rank()));
  Shape shape = data.shape();
  TESSERA_TRY(shape[axis],
              agreed(args, shape[axis], like.shape()[other], "lengths of the sequences"));
  return tensor_type(std::move(shape), data.dtype());
}

}  // namespace

constexpr Operator kMatchSize{
    .name = "match_size",
    .doc =
        "The data, after a check that dimension `axis` is as long as dimension `like_axis` of "
        "another tensor: sequences that a loop goes over together   data: T[a..., n, b...], like: "
        "S[c..., n, d...] -> T[a..., n, b...]",
    .operands = {"data", "like"},
    .keeps_order = true,
    .attrs = relay::attr_schema<MatchSizeAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_match_size,
    .eval = [](const EvalArgs& args) { return std::vector<Tensor>{args.operands[0]}; },
    .compute =
        [](const ComputeArgs& args) {
          return compute_unary(args, [](Expr x) -> Expr { return x; });
        },
    .samples = {"match_size(float32[3,2], int64[4,3], axis=0, like_axis=1)",
                "match_size(bool[2], float16[2], axis=0, like_axis=0)",
                "match_size(int32[2,0], float32[0], axis=-1, like_axis=0)"},
};

}  // namespace tessera::ops
