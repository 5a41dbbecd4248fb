// SPDX-License-Identifier: Apache-2.0
#include "import/needed_elements.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "ops/evaluation/size_values.h"
#include "relay/operator.h"
#include "types/dim_expr.h"

namespace tessera::import {
namespace {

constexpr std::string_view kUndefinedOfNothing[] = {"mean", "argmax", "argmin",
                                                    "nn.global_avg_pool2d", "nn.global_max_pool2d"};

bool has(const Shape& shape, const Dim& dim) {
  return std::find(shape.begin(), shape.end(), dim) != shape.end();
}

// Adds symbols of dimensions that the operand has and the result has not. One of the result's own
// sizes may be 0: then there is no result to define.
void add_reduced(const Shape& operand, const Shape& result, std::set<std::string>& needed) {
  for (const Dim& dim : operand) {
    if (has(result, dim)) continue;
    for (const std::string& symbol : dim.symbols()) {
      if (!has(result, Dim::symbol(symbol))) needed.insert(symbol);
    }
  }
}

// What a size is divided by.
void add_divisors(const Dim& dim, std::set<std::string>& needed) {
  if (!dim.is_symbolic()) return;
  for (const auto& term : dim.expr()->terms) {
    for (const auto& factor : term.factors) {
      if (factor->op == DimOp::kFloorDiv || factor->op == DimOp::kFloorMod) {
        for (std::string& symbol : factor->b.symbols()) needed.insert(std::move(symbol));
      }
      add_divisors(factor->a, needed);
      add_divisors(factor->b, needed);
    }
  }
}

}  // namespace

std::set<std::string> needed_sizes(const relay::Function& f) {
  std::set<std::string> needed;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::NodeId id(i);
    for (const Dim& size : ops::sizes_of(f, id)) add_divisors(size, needed);
    const relay::Operator* op = f.op(id);
    const bool is_undefined =
        op != nullptr && std::find(std::begin(kUndefinedOfNothing), std::end(kUndefinedOfNothing),
                                   op->name) != std::end(kUndefinedOfNothing);
    if (is_undefined) add_reduced(f.type(f.operands(id)[0]).shape(), f.type(id).shape(), needed);
  }
  return needed;
}

}  // namespace tessera::import
