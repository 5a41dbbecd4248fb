// SPDX-License-Identifier: Apache-2.0
#include "ops/records/dynamic_shape.h"

#include "ops/evaluation/evaluate.h"
#include "types/rank.h"

namespace tessera::ops {

Result<Shape> shape_operand(const relay::InferArgs& args, std::size_t i) {
  TESSERA_TRY_VOID(expect_rank(args, i, 1));
  TESSERA_TRY_VOID(expect_int(args, i));
  const auto count = args.operands[i].shape()[0].as_constant();
  if (!count) {
    return refuse(args, Code::kNotSupported, "needs a shape of known rank, found {}",
                  to_string(args.operands[i]));
  }
  if (*count < 0 || *count > kMostDimensions) {
    return refuse(args, Code::kBadDimension,
                  "makes a tensor of {} dimensions; {} are the most that a tensor has", *count,
                  kMostDimensions);
  }
  if (const auto known = constant_ints(args, i)) return Shape(known->begin(), known->end());
  if (i < args.sizes.size() && args.sizes[i] != nullptr) return *args.sizes[i];
  return Shape(static_cast<std::size_t>(*count), Dim::unknown());
}

Definitions define_sizes(std::size_t count, const std::function<Expr(std::size_t)>& element) {
  const auto n = static_cast<std::int64_t>(count);
  return {tir::compute("shape", {Expr(n)}, [&](const Indices& i) {
    Expr value = 0;
    for (std::size_t k = count; k-- > 0;) {
      const Expr size = tir::cast(element(k), kInt64);
      value = k + 1 == count
                  ? size
                  : tir::select(tir::eq(i[0], static_cast<std::int64_t>(k)), size, value);
    }
    return value;
  })};
}

Definitions shape_from_operand_1(const ComputeArgs& args) {
  return define_sizes(args.result.rank(), [&](std::size_t k) {
    return args.operands[1]({static_cast<std::int64_t>(k)});
  });
}

Ints list_of(const Tensor& t) {
  const Elements<std::int64_t> all = values_of<std::int64_t>(t);
  return {all.begin(), all.end()};
}

}  // namespace tessera::ops
