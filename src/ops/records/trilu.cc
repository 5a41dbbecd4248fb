// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_trilu(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_min_rank(args, 0, 2));
  TESSERA_TRY_VOID(expect_rank(args, 1, 0));
  TESSERA_TRY_VOID(expect_int(args, 1));
  return args.operands[0];
}

std::vector<Tensor> eval_trilu(const EvalArgs& args) {
  const bool upper = relay::read_attrs<TriluAttrs>(args.attrs).upper;
  const std::int64_t k = element_as_int(args.operands[1], 0);
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    Elements<T> x = values_of<T>(args.operands[0]);
    std::size_t at = 0;
    for (Counter c(args.operands[0].shape); c; ++c, ++at) {
      const std::int64_t diagonal = c.index().back() - c.index()[c.index().size() - 2];
      if (upper ? diagonal < k : diagonal > k) x[at] = T(0);
    }
    return {tensor_of(args.result, x)};
  });
}

Definitions compute_trilu(const ComputeArgs& args) {
  const bool upper = relay::read_attrs<TriluAttrs>(args.attrs).upper;
  return define(args, "y", [&](const Indices& i) {
    const Expr x = args.operands[0](i), k = tir::cast(args.operands[1]({}), kInt64);
    const Expr diagonal = i.back() - i[i.size() - 2];
    return tir::select(upper ? tir::ge(diagonal, k) : tir::le(diagonal, k), x, zero(x.dtype()));
  });
}

}  // namespace

constexpr Operator kTrilu{
    .name = "trilu",
    .doc =
        "The upper (j - i >= k) or lower (j - i <= k) triangle of the last two dimensions, 0 "
        "elsewhere"
        "   data: T[d..., m, n], k: int[] -> T[d..., m, n]",
    .operands = {"data", "k"},
    .attrs = relay::attr_schema<TriluAttrs>,
    .pattern = OpPattern::kBroadcast,
    .infer = infer_trilu,
    .eval = eval_trilu,
    .compute = compute_trilu,
    .samples = {"trilu(float32[3,4], int64[]=0)", "trilu(int64[2,4,3], int64[]=-1, upper=False)",
                "trilu(float16[2,2], int32[]{-2..2})", "trilu(bool[0,3], int64[]=1)"},
};

}  // namespace tessera::ops
