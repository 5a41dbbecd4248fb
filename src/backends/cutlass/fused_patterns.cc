// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/fused_patterns.h"

#include <algorithm>

#include <fmt/format.h>

#include "attention/around.h"
#include "attention/patterns.h"
#include "backends/cutlass/attention/attention_configuration.h"
#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/gemm/gemm.h"
#include "backends/cutlass/gemm/time_model.h"

namespace tessera::backends::cutlass {
namespace {

using relay::is_constant;
using relay::is_op;
using relay::is_operator;
using relay::Match;
using relay::Pattern;
using relay::Refusal;
using relay::wildcard;

enum class Side : std::uint8_t { kNone, kLeft, kRight };  // where the product is in a sum

Pattern product() {
  return (is_operator("nn.dense") | is_operator("nn.matmul") | is_operator("nn.batch_matmul"))
      .call({wildcard(), wildcard()});
}

Pattern float8_product() {
  return is_op("qnn.dense_float8", {wildcard(), wildcard(), wildcard(), wildcard()});
}

Pattern mixed_product() { return is_op("qnn.dense_mixed", {wildcard(), wildcard(), wildcard()}); }

Pattern convolution() { return is_op("nn.conv2d", {wildcard(), wildcard()}); }
Pattern transposed_convolution() { return is_op("nn.conv2d_transpose", {wildcard(), wildcard()}); }
Pattern weight_gradient() { return is_op("nn.conv2d_backward_weight", {wildcard(), wildcard()}); }

Pattern add(const Pattern& x, const Pattern& y) { return is_op("add", {x, y}); }
Pattern multiply(const Pattern& x, const Pattern& y) { return is_op("multiply", {x, y}); }
Pattern number() { return is_constant(); }

Pattern with_bias(const Pattern& x) {
  return add(x, wildcard()) | is_op("nn.bias_add", {x, wildcard()});
}

// x / 2 (1 + erf(x / sqrt 2)), in the orders in which exporters write it.
Pattern erf_gelu(const Pattern& x) {
  const Pattern scaled = multiply(x, number()) | is_op("divide", {x, number()});
  const Pattern erf =
      is_op("erf", {scaled}) | is_op("cast", {is_op("erf", {is_op("cast", {scaled})})});
  const Pattern one_more = add(erf, number());
  return multiply(multiply(x, one_more), number()) | multiply(multiply(x, number()), one_more) |
         multiply(add(multiply(erf, number()), number()), x);
}

Pattern cast(const Pattern& x) { return is_op("cast", {x}) | x; }

// x / 2 (1 + tanh(a (x + b x^3))), in float32 or not
Pattern tanh_gelu(const Pattern& x) {
  const Pattern wide = cast(x);
  const Pattern cube = is_op("power", {wide, number()}) | multiply(multiply(wide, wide), wide);
  const Pattern inner = multiply(add(wide, multiply(cube, number())), number());
  const Pattern one_more = add(is_op("tanh", {inner}), number());
  const Pattern half = cast(multiply(x, number())) | multiply(wide, number());
  return cast(multiply(half, one_more) | multiply(multiply(wide, one_more), number()));
}

// What fold-layer-norm makes of a product of normalised rows, and of such rows themselves.
Pattern product_of_norm() {
  return is_op("cast", {add(multiply(product(), wildcard()), wildcard())});
}
Pattern other_rows() {
  const Pattern unit = add(multiply(is_op("cast", {wildcard()}), wildcard()), wildcard());
  return is_op("cast", {add(multiply(unit, wildcard()), wildcard())}) | wildcard();
}

Pattern unary(const char* op, const Pattern& x) { return is_op(op, {x}); }

// x clip(x + 3) / 6, in the orders in which exporters write it.
Pattern clipped_swish(const Pattern& x) {
  const Pattern clipped = unary("clip", add(x, number())), both = multiply(x, clipped);
  return multiply(x, is_op("divide", {clipped, number()})) |
         multiply(x, multiply(clipped, number())) | is_op("divide", {both, number()}) |
         multiply(both, number());
}

Pattern activated(const Pattern& x) {
  return erf_gelu(x) | tanh_gelu(x) | clipped_swish(x) | unary("nn.gelu", x) | unary("nn.relu", x) |
         unary("nn.leaky_relu", x) | multiply(x, unary("sigmoid", x)) | unary("nn.hard_swish", x) |
         unary("sigmoid", x) | unary("tanh", x) | unary("clip", x);
}

// Sums of integers without what a zero point adds, with a bias, their scale, and what else is done
// to floats.
Pattern rescaled_sums(const Pattern& sums) {
  const Pattern shifted = is_op("subtract", {sums, wildcard()}) | sums;
  const Pattern floats = is_op("cast", {add(shifted, wildcard()) | shifted});
  return multiply(floats, wildcard()) | floats;
}
Pattern rescaled(const Pattern& sums) {
  const Pattern scaled = rescaled_sums(sums);
  const Pattern biased = with_bias(scaled) | scaled;
  return add(activated(biased), wildcard()) | activated(biased) |
         activated(add(biased, wildcard())) | with_bias(biased) | biased;
}

// Integers of eight bits as the floats that they stand for.
Pattern dequantised() {
  const Pattern wide = is_op("cast", {wildcard()});
  return multiply(is_op("subtract", {wide, wildcard()}) | wide, wildcard());
}

// The same with such a tensor, which nobody else reads as floats, added before the activation.
Pattern rescaled_with_residual(const Pattern& sums, Side side) {
  const Pattern floats = rescaled_sums(sums), biased = with_bias(floats) | floats;
  const Pattern both =
      side == Side::kLeft ? add(biased, dequantised()) : add(dequantised(), biased);
  return activated(both) | both;
}

// Rounded, with another zero point, to integers of eight bits.
Pattern requantised(const Pattern& x) {
  const Pattern scaled = is_op("divide", {x, wildcard()}) | multiply(x, wildcard()) | x;
  const Pattern rounded = unary("round", scaled);
  const Pattern shifted = add(rounded, wildcard()) | rounded;
  const Pattern above = is_op("maximum", {shifted, number()});
  return is_op("cast", {is_op("minimum", {above, number()}) | unary("clip", shifted)});
}

// Where the table is used by its name, there is a target of another kind.
Target own_target(const Target& given) {
  return given.name() == "cutlass" ? given : Target("cutlass");
}

std::optional<Refusal> check_attention(const Match& match, const Target& given) {
  const Target target = own_target(given);
  const auto attention = describe_attention(match, target);
  if (!attention) return attention.error();
  return check_kernels(*attention, target);
}

// Where no pattern has taken it, the softmax tells why.
std::optional<Refusal> check_other_attention(const Match& match, const Target& target) {
  const auto attention = attention::around(match);
  if (!attention) return Refusal{};
  const auto why = check_attention(*attention, target);
  return why ? why : attention::why_unmatched(*attention);
}

// What follows the product may make a batch of what would be rows of one matrix else, and
// each of its matrices has tiles of its own. Where these are so empty that the product takes longer
// than by itself with a kernel that reads and writes the result, it is better by itself.
std::optional<Refusal> check_batch(const Gemm& gemm, const Configuration& best,
                                   const Target& target) {
  const auto batch = gemm.batch.as_constant(), m = gemm.m.as_constant();
  if (!gemm.b_repeats || gemm.a_is_column_major || !batch || !m) return std::nullopt;
  Gemm rows = gemm;
  rows.m = *m * *batch;
  rows.batch = 1;
  rows.b_repeats = false;
  const Device device = device_of(target);
  const auto all = candidates(rows, target, device);
  if (all.empty()) return std::nullopt;
  constexpr double kLaunch = 2.5, kBytesPerMicrosecond = 3e6;
  const auto elements = static_cast<double>(*m * *batch * gemm.n.constant());
  const double moved = 2 * elements * static_cast<double>(gemm.epilogue.dtype.size_bytes());
  const double apart =
      estimated_microseconds(rows, all.front(), device) + kLaunch + moved / kBytesPerMicrosecond;
  if (estimated_microseconds(gemm, best, device) <= apart) return std::nullopt;
  return Refusal{fmt::format(
      "it needs a batch of {} matrices of {} rows, whose tiles are emptier than it is worth",
      *batch, *m)};
}

std::optional<Refusal> check(const Match& match, const Target& given) {
  const Target target = own_target(given);
  if (!has_kernels(target)) {
    return Refusal{"the kernels are for sm_80 and later, the target is for " +
                   architecture(target)};
  }
  const auto gemm = describe_gemm(match, target);
  if (!gemm) return gemm.error();
  const auto all = candidates(*gemm, target, device_of(target));
  if (all.empty()) {
    if (gemm->convolution && !suits_iterators(*gemm->convolution)) {
      return Refusal{"the window is larger than 32 elements, or its padding is negative"};
    }
    if (gemm->batch.as_constant().value_or(1) > kMostMatricesOfGrid) {
      return Refusal{fmt::format("a batch of {} has more than the {} matrices of a grid",
                                 to_string(gemm->batch), kMostMatricesOfGrid)};
    }
    return Refusal{"no tile with a cluster shape of `-cluster_shapes` fits"};
  }
  return check_batch(*gemm, all.front(), target);
}

std::optional<Refusal> check_product_of_norm(const Match& match, const Target& target) {
  if (target.name() == "cutlass" && !target.get_bool("fold_norms")) {
    return Refusal{"-fold_norms=false"};
  }
  return check(match, target);
}

// ---- Products of floats, and what may follow them, in this order

struct Parts {
  bool scale, bias, activation;
  Side residual;
  bool last_activation;

  int count() const {
    return scale + bias + activation + (residual != Side::kNone) + last_activation;
  }
  std::string name() const;
  Pattern after(const Pattern& product) const;
};

std::string Parts::name() const {
  return fmt::format("{}{}{}{}{}", scale ? "_scale" : "", bias ? "_bias" : "",
                     activation ? "_activation" : "", residual != Side::kNone ? "_residual" : "",
                     last_activation ? "_activation" : "");
}

// Sides are patterns of their own: where the left operand of a sum is a product that others read,
// too, nothing else would be tried with the right one.
Pattern Parts::after(const Pattern& product) const {
  Pattern x = product;
  if (scale) x = multiply(x, number()) | is_op("divide", {x, number()});
  if (bias) x = with_bias(x);
  if (activation) x = activated(x);
  const Pattern joined = is_operator("add") | is_operator("multiply");
  if (residual == Side::kLeft) x = joined.call({x, other_rows()});
  if (residual == Side::kRight) x = joined.call({other_rows(), x});
  return last_activation ? activated(x) : x;
}

// All of them, those of more parts first: what is claimed is as much as can be.
std::vector<Parts> all_parts() {
  std::vector<Parts> all;
  for (const bool scale : {true, false}) {
    for (const bool bias : {true, false}) {
      for (const bool activation : {true, false}) {
        for (const Side side : {Side::kNone, Side::kLeft, Side::kRight}) {
          all.push_back({scale, bias, activation, side, false});
          if (side != Side::kNone) all.push_back({scale, bias, activation, side, true});
        }
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Parts& a, const Parts& b) { return a.count() > b.count(); });
  return all;
}

// Without sums of integers it is another pattern that counts, and its reason.
std::optional<Refusal> check_integers(const Match& match, const Target& target) {
  const relay::Function& f = *match.function;
  const bool has_sums =
      std::any_of(match.inside.begin(), match.inside.end(), [&](relay::NodeId id) {
        return f.op(id) != nullptr && f.op(id)->name.starts_with("nn.") &&
               f.type(id).dtype() == kInt32;
      });
  return has_sums ? check(match, target) : Refusal{};
}

}  // namespace

// Each subject and what it is part of.
std::vector<relay::CompositePattern> fused_patterns() {
  std::vector<relay::CompositePattern> table;
  for (auto& row : attention::patterns("cutlass", check_attention)) table.push_back(std::move(row));
  table.push_back({"cutlass.attention", unary("nn.softmax", wildcard()), check_other_attention});
  for (const auto& [name, sums] : {std::pair("cutlass.integer_product", product()),
                                   std::pair("cutlass.integer_conv2d", convolution())}) {
    const std::string grown = fmt::format("{}_epilogue", name);
    const auto add_row = [&, name = name](const char* part, const Pattern& pattern) {
      table.push_back({fmt::format("{}_{}", name, part), pattern, check_integers, grown});
    };
    for (const Side side : {Side::kLeft, Side::kRight}) {
      const Pattern floats = rescaled_with_residual(sums, side);
      add_row("residual_requantised", requantised(floats));
      add_row("residual_rescaled", cast(floats));
    }
    add_row("requantised", requantised(rescaled(sums)));
    add_row("rescaled", cast(rescaled(sums)));
    add_row("shifted", is_op("subtract", {sums, wildcard()}));
  }
  for (const Parts& parts : all_parts()) {
    const std::string name = "cutlass.float8_product" + parts.name();
    const Pattern result = parts.after(cast(float8_product()));
    table.push_back(
        {name + "_quantised", is_op("qnn.quantize_float8", {cast(result), wildcard()}), check});
    table.push_back({name, result, check, "cutlass.float8_product_epilogue"});
  }
  for (const Parts& parts : all_parts()) {
    table.push_back({"cutlass.mixed_product" + parts.name(), parts.after(mixed_product()), check,
                     "cutlass.mixed_product_epilogue"});
  }
  for (const Parts& parts : all_parts()) {
    table.push_back({"cutlass.product_of_norm" + parts.name(), parts.after(product_of_norm()),
                     check_product_of_norm, "cutlass.product_of_norm_epilogue"});
  }
  for (const Parts& parts : all_parts()) {
    table.push_back({"cutlass.product" + parts.name(), parts.after(product()), check,
                     "cutlass.product_epilogue"});
    table.push_back({"cutlass.conv2d" + parts.name(), parts.after(convolution()), check,
                     "cutlass.conv2d_epilogue"});
    table.push_back({"cutlass.conv2d_transpose" + parts.name(),
                     parts.after(transposed_convolution()), check,
                     "cutlass.conv2d_transpose_epilogue"});
  }
  table.push_back({"cutlass.conv2d_backward_weight", weight_gradient(), check,
                   "cutlass.conv2d_backward_weight_epilogue"});
  return table;
}

}  // namespace tessera::backends::cutlass
