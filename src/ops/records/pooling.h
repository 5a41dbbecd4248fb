// SPDX-License-Identifier: Apache-2.0
// Pooling over any number of spatial dimensions: the greatest or the mean of what lies under a
// window.
#pragma once

#include <limits>
#include <type_traits>

#include "ops/attrs/pool.h"
#include "ops/records/layout.h"

namespace tessera::ops {

enum class PoolKind { kMax, kAverage };

// The greatest of no elements: the least number of the element's type, which T may be wider
// than.
template <class T>
T least_of(DType dtype) {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return static_cast<T>(*tir::as_int(tir::reduce_identity(ReduceOp::kMax, dtype)));
}

Result<Type> infer_pool(const InferArgs& args, const PoolAttrs& p);
std::vector<Tensor> eval_pool(const EvalArgs& args, const PoolAttrs& p, PoolKind kind);
Definitions compute_pool(const ComputeArgs& args, const PoolAttrs& p, PoolKind kind);
double pool_flops(const CostArgs& args, const PoolAttrs& p);

// The record of a pooling operator, given its texts.
template <class A, PoolKind kKind>
constexpr Operator pool_operator(std::string_view name, std::string_view doc, Samples samples) {
  return {
      .name = name,
      .doc = doc,
      .operands = {"data"},
      .attrs = relay::attr_schema<A>,
      .pattern = OpPattern::kOutFusable,
      .infer = [](const InferArgs& a) { return infer_pool(a, relay::read_attrs<A>(a.attrs)); },
      .eval = [](const EvalArgs& a) { return eval_pool(a, relay::read_attrs<A>(a.attrs), kKind); },
      .compute =
          [](const ComputeArgs& a) {
            return compute_pool(a, relay::read_attrs<A>(a.attrs), kKind);
          },
      .flops = [](const CostArgs& a) { return pool_flops(a, relay::read_attrs<A>(a.attrs)); },
      .samples = samples,
  };
}

Result<Type> infer_global_pool(const InferArgs& args);
std::vector<Tensor> eval_global_pool(const EvalArgs& args, PoolKind kind);
Definitions compute_global_pool(const ComputeArgs& args, PoolKind kind);

}  // namespace tessera::ops
