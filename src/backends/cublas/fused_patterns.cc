// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/fused_patterns.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cublas/describe.h"
#include "relay/patterns/gelu.h"

namespace tessera::backends::cublas {
namespace {

using relay::is_constant;
using relay::is_op;
using relay::is_operator;
using relay::Match;
using relay::Pattern;
using relay::Refusal;
using relay::wildcard;

Pattern product() {
  return (is_operator("nn.dense") | is_operator("nn.matmul") | is_operator("nn.batch_matmul") |
          is_operator("nn.conv2d"))
      .call({wildcard(), wildcard()}, "core");
}

// With scales, of which constants of one number become part of the library's factor; sums are
// rounded once where they are wanted in 16 bits.
Pattern float8_product() {
  const auto scale = [](const char* number) {
    return is_constant(number).has_shape({}) | wildcard();
  };
  const Pattern core =
      is_operator("qnn.dense_float8")
          .call({wildcard(), wildcard(), scale("row_number"), scale("column_number")}, "core");
  return is_op("cast", {core}, "narrow") | core;
}

Pattern multiply(const Pattern& x, const Pattern& y) { return is_op("multiply", {x, y}); }
Pattern cast(const Pattern& x) { return is_op("cast", {x}) | x; }

// x / 2 (1 + tanh(slope (x + cubic x^3))), in float32 or not, in the orders in which exporters
// write it.
Pattern written_tanh_gelu(const Pattern& x) {
  const Pattern wide = cast(x);
  const Pattern cube =
      is_op("power", {wide, is_constant("exponent")}) | multiply(multiply(wide, wide), wide);
  const Pattern sum = is_op("add", {wide, multiply(cube, is_constant("cubic"))});
  const Pattern inner = multiply(sum, is_constant("slope"));
  const Pattern one_more = is_op("add", {is_op("tanh", {inner}), is_constant("one")}, "tanh_form");
  const Pattern half = is_constant("half");
  return cast(multiply(cast(multiply(x, half)) | multiply(wide, half), one_more) |
              multiply(multiply(wide, one_more), half) | multiply(wide, multiply(one_more, half)));
}

// By erf, too, so that there is a reason why it is not taken.
Pattern gelu(const Pattern& x) {
  const Pattern wide = cast(x);
  return written_tanh_gelu(x) | cast(is_op("nn.gelu_tanh", {wide}, "gelu_tanh")) |
         cast(is_op("nn.gelu", {wide}, "gelu_erf")) | cast(relay::erf_gelu(wide, "erf_form"));
}

// Where the product is in a sum: patterns of their own, since where both operands are products no
// other than the left one is tried.
enum class Side : std::uint8_t { kNone, kLeft, kRight };

struct Parts {
  bool scale;
  Side first, second;
  bool activation;

  int count() const {
    return scale + (first != Side::kNone) + (second != Side::kNone) + activation;
  }
  std::string name() const {
    return fmt::format("product{}{}{}{}", scale ? "_scale" : "", first == Side::kNone ? "" : "_add",
                       second == Side::kNone ? "" : "_add", activation ? "_activation" : "");
  }
  Pattern after(Pattern x) const;
};

Pattern sum(const Pattern& x, Side side, const char* capture) {
  const Pattern other = wildcard(capture);
  if (side == Side::kRight) return is_operator("add").call({other, x});
  return is_operator("add").call({x, other}) | is_op("nn.bias_add", {x, other}, "bias_add");
}

Pattern scaled(const Pattern& x) {
  return multiply(x, is_constant("alpha")) | is_op("divide", {x, is_constant("divisor")});
}

Pattern Parts::after(Pattern x) const {
  if (scale) x = scaled(x);
  if (first != Side::kNone) x = sum(x, first, "first");
  if (second != Side::kNone) x = sum(x, second, "second");
  return activation ? is_op("nn.relu", {x}, "relu") | gelu(x) : x;
}

std::vector<Parts> all_parts() {
  std::vector<Parts> all;
  for (const bool scale : {true, false}) {
    for (const Side first : {Side::kLeft, Side::kRight, Side::kNone}) {
      for (const Side second : {Side::kLeft, Side::kRight, Side::kNone}) {
        if (first == Side::kNone && second != Side::kNone) continue;
        for (const bool activation : {true, false})
          all.push_back({scale, first, second, activation});
      }
    }
  }
  return all;
}

// Where the table is used by its name, there is a target of another kind.
std::optional<Refusal> check_product(const Match& match, const Target& given) {
  const auto product = describe(match, given.name() == "cublas" ? given : Target("cublas"));
  if (!product) return product.error();
  return std::nullopt;
}

}  // namespace

// Those of more parts first: what is claimed is as much as can be.
std::vector<relay::CompositePattern> fused_patterns() {
  std::vector<std::pair<int, relay::CompositePattern>> table;
  for (const Parts& parts : all_parts()) {
    table.emplace_back(
        parts.count(),
        relay::CompositePattern{"cublas." + parts.name(), parts.after(product()), check_product});
    table.emplace_back(parts.count(),
                       relay::CompositePattern{"cublas.float8_" + parts.name(),
                                               parts.after(float8_product()), check_product});
  }
  // Wider than its factors: the sums are not rounded in between.
  for (const bool scale : {true, false}) {
    const Pattern x = scale ? scaled(product()) : product();
    const std::string name = fmt::format("cublas.product{}_cast", scale ? "_scale" : "");
    table.emplace_back(scale ? 2 : 1,
                       relay::CompositePattern{name, is_op("cast", {x}, "cast"), check_product});
  }
  std::stable_sort(table.begin(), table.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<relay::CompositePattern> sorted;
  for (auto& [count, composite] : table) sorted.push_back(std::move(composite));
  return sorted;
}

}  // namespace tessera::backends::cublas
