// SPDX-License-Identifier: Apache-2.0
#include "attention/patterns.h"

#include <utility>

#include <fmt/format.h>

namespace tessera::attention {
namespace {

using relay::is_constant;
using relay::is_op;
using relay::is_operator;
using relay::Pattern;
using relay::wildcard;

Pattern add(const Pattern& x, const Pattern& y) { return is_op("add", {x, y}); }
Pattern multiply(const Pattern& x, const Pattern& y) { return is_op("multiply", {x, y}); }
Pattern number() { return is_constant(); }
Pattern cast(const Pattern& x) { return is_op("cast", {x}) | x; }

// A scale; what is scaled by a tensor is what heads are made of.
Pattern times_number(const Pattern& x) {
  const Pattern scale = number().has_shape({}) | number().has_shape({1}) |
                        number().has_shape({1, 1, 1}) | number().has_shape({1, 1, 1, 1});
  return multiply(x, scale) | is_op("divide", {x, scale}) | x;
}
Pattern counted(const Pattern& x) { return is_op("reshape", {x}) | x; }

// What heads are made of: a part of a packed tensor, or a tensor of their own. After the
// transpose, heads and batches may be counted as one. `scaled` stands wherever a scale may.
Pattern heads(Pattern (*scaled)(const Pattern&)) {
  const Pattern source = is_op("reshape", {scaled(is_op("strided_slice", {wildcard()}))}) |
                         is_op("reshape", {scaled(wildcard())}) | wildcard();
  const Pattern outside = counted(is_op("transpose", {scaled(source)}));
  return scaled(is_op("transpose", {outside}) | outside | wildcard());
}
Pattern unscaled(const Pattern& x) { return x; }

// Keys and values that a decoder also gives back share what they are views of: then the kernel
// reads those, or the values as they are.
enum class Cache : std::uint8_t { kNone, kGivenBack };
Pattern keys(Cache cache) {
  const Pattern view = counted(is_op("transpose", {wildcard()})) | wildcard();
  return cache == Cache::kNone ? heads(times_number) : times_number(view);
}
Pattern values(Cache cache) { return cache == Cache::kNone ? heads(unscaled) : wildcard(); }

// As exported with a mask of booleans: a row without a key is zero, not the softmax's NaN.
Pattern zero_where_nan(const Pattern& x) {
  return is_op("where", {is_op("isnan", {x}), number(), x}) | x;
}

// A mask that is added, or chooses between scores and a number.
Pattern with_mask(const Pattern& scores, const Pattern& mask) {
  return add(scores, mask) | is_op("where", {mask, scores, number()}) |
         is_op("where", {mask, number(), scores});
}
// scores b - c (1 - b), of a constant b, and of one made of booleans.
Pattern with_factor(const Pattern& scores) {
  return is_op("subtract", {multiply(scores, number()), number()});
}
Pattern with_read_factor(const Pattern& scores) {
  const Pattern b = is_op("cast", {wildcard()});
  return is_op("subtract",
               {multiply(scores, b), multiply(is_op("subtract", {number(), b}), number())});
}

// Casts, bounds, and reshapes between heads in batches and heads alone, in any order.
Pattern between(const Pattern& x) {
  return cast(counted(is_op("maximum", {cast(x), number()}) | cast(counted(x))));
}

// softmax(scale Q K^T + mask) V in its parts, the softmax in float32 or not. A causal mask is a
// constant that the kernel does not read: it stays inside, before or after another one.
enum class Mask : std::uint8_t { kCausalLast, kCausalFirst, kAnyOrNone };
Pattern weighted_values(Mask mask, Cache cache) {
  const auto product_of = [](const Pattern& a, const Pattern& b) {
    return (is_operator("nn.matmul") | is_operator("nn.batch_matmul")).call({a, b});
  };
  const Pattern scores = product_of(heads(times_number), keys(cache));
  const Pattern scaled = between(times_number(between(scores)));
  const auto masks = [&]() -> Pattern {
    const Pattern one = between(with_mask(scaled, wildcard()) | with_read_factor(scaled));
    if (mask == Mask::kCausalLast) {
      return with_mask(one | scaled, is_constant()) | with_factor(one | scaled);
    }
    if (mask == Mask::kCausalFirst) {
      return with_mask(between(with_mask(scaled, is_constant()) | with_factor(scaled)), wildcard());
    }
    return with_mask(one, wildcard()) | one | scaled;
  };
  const Pattern weights = between(zero_where_nan(between(is_op("nn.softmax", {between(masks())}))));
  return product_of(weights, values(cache));
}

void add_rows(std::vector<relay::CompositePattern>& table, std::string_view back_end,
              const Check& check, Cache cache) {
  for (const auto& [name, mask] : {std::pair("causal_attention", Mask::kCausalLast),
                                   std::pair("causal_masked_attention", Mask::kCausalFirst),
                                   std::pair("attention", Mask::kAnyOrNone)}) {
    const std::string full = fmt::format("{}.{}", back_end, name);
    const Pattern inside = weighted_values(mask, cache),
                  outside = is_op("transpose", {counted(inside)});
    table.push_back({full + "_merged", is_op("reshape", {outside}), check});
    table.push_back({full + "_transposed", outside, check});
    table.push_back({full, inside, check});
  }
}

}  // namespace

std::vector<relay::CompositePattern> patterns(std::string_view back_end, const Check& check) {
  std::vector<relay::CompositePattern> table;
  add_rows(table, back_end, check, Cache::kNone);
  add_rows(table, back_end, check, Cache::kGivenBack);
  return table;
}

}  // namespace tessera::attention
