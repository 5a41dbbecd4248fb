// SPDX-License-Identifier: Apache-2.0
// Which weights are stored as integers of a few bits or packed without loss, and how: rules as
// texts, of which the last that fits decides.
//   [PATTERN=](int8|int4)[:group=32|64|128][,symmetric|asymmetric]     [PATTERN=]keep
//   [PATTERN=]fp8[:channel|tensor][,static|dynamic]                    [NAME=]lossless
// PATTERN is a name of a node of the model with * and ?, or one of these kinds of weights:
//   @embedding   rows are taken from it
//   @first       of a product computed of the model's floats with no product between
//   @last        of one such that no product is computed of what it gives
//   @small       it has fewer than 16,384 elements
// These kinds are asked of weights that could become integers; what is packed is any constant of
// floats, and names alone decide. Without a pattern a rule is for all; such rules come first, then
// `@embedding=keep`, `@first=keep`, `@last=keep` and `@small=keep`, then those with patterns, each
// in the order in which they are given.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constants/float8.h"
#include "diagnostics/diagnostic.h"

namespace tessera::passes {

// Of products whose weights and data are floats of eight bits (e4m3fn).
struct Float8Form {
  // Of data: one that calibration found, or one for each row, found in each run; or the former
  // where there is a calibration.
  enum class Data : std::uint8_t { kCalibratedIfCan, kStatic, kDynamic };
  Float8Scales weights = Float8Scales::kColumn;
  Data data = Data::kCalibratedIfCan;
};

struct WeightForm {
  std::int64_t bits = 0;    // 0: as they are
  std::int64_t group = 64;  // elements with one scale, along the sum of the product
  bool is_symmetric = true;
  bool is_lossless = false;                         // with 0 bits: packed
  std::optional<Float8Form> float8 = std::nullopt;  // with 8 bits: these, and no integers

  bool is_integer() const { return bits > 0 && !float8; }
};
std::string to_string(const WeightForm& form);  // "int4:group=64,symmetric", "lossless", "keep"

struct WeightRule {
  std::string pattern, text;
  WeightForm form;
};

inline constexpr std::int64_t kSmallWeight = 16384;  // elements

// Is the pattern a name, and one of these?
bool fits_a_name(const WeightRule& rule, std::span<const std::string> names);

// Of the rules in the order of parse_weight_rules, that for a constant which nodes of these names
// read; null: none.
const WeightRule* rule_of_constant(std::span<const WeightRule> rules,
                                   std::span<const std::string> names);

// In the order in which they are to be looked at: the first that fits decides.
Result<std::vector<WeightRule>> parse_weight_rules(std::span<const std::string> texts);

}  // namespace tessera::passes
