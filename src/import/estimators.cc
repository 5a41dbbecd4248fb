// SPDX-License-Identifier: Apache-2.0
#include "import/estimators.h"

#include <algorithm>
#include <numbers>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::import {
namespace {

// As near to the inverse of erf as Winitzki's formula is, with onnxruntime's constants.
Value inverse_erf(Value x) {
  const Value log = ((1.0 - x) * (x + 1.0)).apply("log");
  const double a = 0.147;
  const Value half = log * 0.5 + 2 / (3.14159 * a);
  const Value size = ((half * half - log * (1 / a)).apply("sqrt") - half).apply("sqrt");
  return where(x < 0.0, 0.0 - size, size);
}

Value probit(Value x) { return inverse_erf(x * 2.0 - 1.0) * std::numbers::sqrt2; }

// Softmax of the scores that are not zero; those stay zero.
Value softmax_of_others(Value scores) {
  const Value most = scores.apply("max", {{"axis", Ints{1}}, {"keepdims", true}});
  const Value is_zero = scores.apply("abs") <= 1e-7;
  const Value kept = where(is_zero, scores.number(0), (scores - most).apply("exp"));
  const Value shares = where(is_zero, scores * (0.0 - most).apply("exp"), kept);
  return shares / kept.sum({1});
}

}  // namespace

Value feature_rows(Node& n) {
  const Value x = input(n, 0);
  if (x.rank() == 1) return x.expand_dims(0);
  if (x.rank() == 2) return x;
  n.invalid(Code::kShapeMismatch,
            fmt::format("its input has {} dimensions; rows of features have 1 or 2", x.rank()));
}

void expect_length(Node& n, std::string_view attribute, std::size_t found, std::int64_t wanted) {
  if (static_cast<std::int64_t>(found) == wanted) return;
  n.invalid(Code::kWrongAttribute, fmt::format("its attribute `{}` has {} elements, and needs {}",
                                               attribute, found, wanted));
}

std::size_t choice_attr(Node& n, std::string_view attribute,
                        std::initializer_list<std::string_view> names, std::size_t fallback) {
  const std::string text = n.string_attr(attribute, std::string(names.begin()[fallback]));
  const auto* it = std::find(names.begin(), names.end(), text);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  n.invalid(Code::kWrongAttribute, fmt::format("its attribute `{}` is \"{}\"; it is one of {}",
                                               attribute, text, fmt::join(names, ", ")));
}

PostTransform post_transform_attr(Node& n) {
  return static_cast<PostTransform>(choice_attr(
      n, "post_transform", {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"}, 0));
}

Value transformed(Value scores, PostTransform transform) {
  switch (transform) {
    case PostTransform::kNone:
      return scores;
    case PostTransform::kLogistic:
      return scores.apply("sigmoid");
    case PostTransform::kSoftmax:
      return scores.apply("nn.softmax", {{"axis", 1}});
    case PostTransform::kSoftmaxZero:
      return softmax_of_others(scores);
    case PostTransform::kProbit:
      return probit(scores);
  }
  return scores;
}

Value transformed_targets(Value scores, PostTransform transform) {
  const bool is_one = scores.size(1) == 1;
  return is_one && transform != PostTransform::kProbit ? scores : transformed(scores, transform);
}

Value both_classes(Value second, bool is_probability, PostTransform transform) {
  if (transform == PostTransform::kProbit) {
    second.node().unsupported("the transform PROBIT of one score for two classes");
  }
  const bool is_logistic = transform == PostTransform::kLogistic;
  const Value first = is_probability && !is_logistic ? 1.0 - second : 0.0 - second;
  const Value both = concat(second.node(), {first, second}, 1);
  return is_logistic ? both.apply("sigmoid") : both;
}

Classes classes_attr(Node& n, std::string_view ints) {
  const auto strings = static_cast<std::int64_t>(n.strings_attr("classlabels_strings").size());
  Classes classes{n.ints_attr(ints), 0, strings > 0};
  const auto numbers = static_cast<std::int64_t>(classes.labels.size());
  if ((strings == 0) == (numbers == 0)) {
    n.invalid(Code::kWrongAttribute,
              fmt::format("it needs `classlabels_strings` or `{}`, one of the two", ints));
  }
  classes.count = strings + numbers;
  return classes;
}

NodeId labels_at(const Classes& classes, Value places) {
  if (classes.are_strings) return NodeId();
  Node& n = places.node();
  return Value(n, n.ints(classes.labels)).take(places, 0);
}

}  // namespace tessera::import
