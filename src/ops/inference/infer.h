// SPDX-License-Identifier: Apache-2.0
// What the `infer` functions of operators share: findings, axes, agreement of sizes and types.
#pragma once

#include <optional>
#include <vector>

#include <fmt/core.h>

#include "ops/evaluation/elements.h"
#include "relay/operator.h"
#include "types/rank.h"

namespace tessera::ops {

// The longest table that an operator computes of an attribute and keeps: places, weights.
inline constexpr std::int64_t kLongestTable = 1 << 24;

// "`nn.dense` contraction sizes differ: 768 vs 1024"; the text begins after the operator's name.
Unexpected<Diagnostics> refusal(const relay::InferArgs& args, Code code, std::string text);
template <class... A>
Unexpected<Diagnostics> refuse(const relay::InferArgs& args, Code code,
                               fmt::format_string<A...> text, A&&... a) {
  return refusal(args, code, fmt::format(text, std::forward<A>(a)...));
}

// The axis counted from the front; -1 is the last of `rank`.
Result<std::int64_t> normal_axis(const relay::InferArgs& args, std::int64_t axis, std::size_t rank);
// The same where inference has already accepted it.
std::int64_t front_axis(std::int64_t axis, std::size_t rank);
// A flag for each dimension: named by `axes` (all if not set); `exclude` turns the choice round.
Result<std::vector<bool>> chosen_axes(const relay::InferArgs& args, const std::optional<Ints>& axes,
                                      bool exclude, std::size_t rank);
std::vector<bool> accepted_axes(const std::optional<Ints>& axes, bool exclude, std::size_t rank);

Result<void> expect_rank(const relay::InferArgs& args, std::size_t operand, std::size_t rank);
Result<void> expect_min_rank(const relay::InferArgs& args, std::size_t operand, std::size_t rank);
Result<void> expect_float(const relay::InferArgs& args, std::size_t operand);
Result<void> expect_int(const relay::InferArgs& args, std::size_t operand);
// All operands have the dtype of the first.
Result<void> expect_same_dtype(const relay::InferArgs& args);

// Beside the axis, operand `of` is no larger than the first one, at whose places it looks.
Result<void> expect_covered(const relay::InferArgs& args, std::int64_t axis, std::size_t of,
                            std::string_view what);

// Sizes that must agree at run time; the better known of the two.
Result<Dim> agreed(const relay::InferArgs& args, const Dim& a, const Dim& b, std::string_view what);
Result<Dim> broadcast_dim(const relay::InferArgs& args, const Dim& a, const Dim& b,
                          const Shape& left, const Shape& right);
// numpy broadcasting.
Result<Shape> broadcast_shapes(const relay::InferArgs& args, const Shape& a, const Shape& b);

Result<Type> same_as_first(const relay::InferArgs& args);  // any dtype
Result<Type> float_as_first(const relay::InferArgs& args);
// The type of operators that mark a value and are it: the operand's, tuples too.
Result<Type> infer_mark(const relay::InferArgs& args);
bool is_mark(const relay::Operator& op);

// The integers of a constant operand, or nothing where it is not constant.
std::optional<Ints> constant_ints(const relay::InferArgs& args, std::size_t operand);

}  // namespace tessera::ops
