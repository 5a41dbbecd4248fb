// SPDX-License-Identifier: Apache-2.0
// Tensors of one number that no operand gives.
#pragma once

#include "ops/attrs/create.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

template <int kValue>
constexpr Operator init_operator(std::string_view name, std::string_view doc, Samples samples) {
  return {
      .name = name,
      .doc = doc,
      .operands = {},
      .attrs = relay::attr_schema<InitAttrs>,
      .pattern = OpPattern::kElemWise,
      .infer = [](const InferArgs& args) -> Result<Type> {
        const auto p = relay::read_attrs<InitAttrs>(args.attrs);
        return tensor_type(Shape(p.shape.begin(), p.shape.end()), p.dtype);
      },
      .eval =
          [](const EvalArgs& args) {
            const auto count = static_cast<std::size_t>(count_of(static_shape(args.result)));
            return std::vector<Tensor>{tensor_of(args.result, Ints(count, kValue))};
          },
      .compute =
          [](const ComputeArgs& args) {
            return define(args, "y",
                          [&](const Indices&) { return tir::imm(kValue, result_dtype(args)); });
          },
      .samples = samples,
  };
}

}  // namespace tessera::ops
