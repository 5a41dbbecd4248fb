// SPDX-License-Identifier: Apache-2.0
// SVMRegressor and SVMClassifier of ai.onnx.ml.
#include <algorithm>

#include <fmt/format.h>

#include "import/converters.h"
#include "import/estimators.h"

namespace tessera::import {
namespace {

enum class Kernel : std::uint8_t { kLinear, kPoly, kRbf, kSigmoid };

// Vectors that rows of features are compared with, and how.
struct Support {
  std::vector<double> vectors;
  std::int64_t count;
  Kernel kernel;
  double gamma = 0, offset = 0, degree = 0;
};

Support support_attrs(Node& n, std::int64_t count) {
  Support s{
      n.floats_attr("support_vectors"), count,
      static_cast<Kernel>(choice_attr(n, "kernel_type", {"LINEAR", "POLY", "RBF", "SIGMOID"}, 0))};
  const std::vector<double> params = n.floats_attr("kernel_params");
  if (params.empty()) return s;
  expect_length(n, "kernel_params", params.size(), 3);
  s.gamma = params[0];
  s.offset = params[1];
  s.degree = params[2];
  return s;
}

// `rows` vectors of the features, (rows, f).
Value vectors_of(Value x, std::string_view attribute, const std::vector<double>& values,
                 std::int64_t rows) {
  Node& n = x.node();
  const auto count = static_cast<std::int64_t>(values.size());
  const auto known = x.dim(1).as_constant();
  if (rows <= 0 || count % rows != 0 || (known && count / rows != *known)) {
    n.invalid(Code::kWrongAttribute,
              fmt::format("its attribute `{}` has {} elements for {} vectors of {} features",
                          attribute, count, rows, to_string(x.dim(1))));
  }
  return numbers(n, {rows, count / rows}, values, kFloat32);
}

Value dense(Value x, Value weights) {
  return {x.node(), x.node().call("nn.dense", {x, weights}, {{"units", relay::AttrValue()}})};
}

// The kernel of each row with each vector, (n, count).
Value kernel_of(Value x, const Support& s) {
  const Value vectors = vectors_of(x, "support_vectors", s.vectors, s.count);
  if (s.kernel == Kernel::kRbf) {
    // The square of the difference: a product of large numbers loses it.
    const Value difference = x.expand_dims(1) - vectors;
    return ((difference * difference).sum({2}, false) * -s.gamma).apply("exp");
  }
  const Value product = dense(x, vectors);
  if (s.kernel == Kernel::kLinear) return product;
  const Value scaled = product * s.gamma + s.offset;
  if (s.kernel == Kernel::kSigmoid) return scaled.apply("tanh");
  if (s.degree == 2) return scaled * scaled;
  if (s.degree == 3) return scaled * scaled * scaled;
  return power(scaled, s.degree);
}

std::vector<NodeId> convert_svm_regressor(Node& n) {
  const Value x = feature_rows(n).cast(kFloat32);
  const Support s = support_attrs(n, n.int_attr("n_supports", 0));
  if (post_transform_attr(n) != PostTransform::kNone) n.unsupported("a post_transform");
  const std::vector<double> coefficients = n.floats_attr("coefficients");
  const std::vector<double> rho = n.floats_attr("rho");
  expect_length(n, "rho", rho.size(), 1);
  const Value features = s.count > 0 ? kernel_of(x, s) : x;
  Value y = dense(features, vectors_of(features, "coefficients", coefficients, 1)) + rho[0];
  if (n.flag_attr("one_class", false)) y = where(y > 0.0, y.number(1), y.number(-1));
  return {y};
}

// ---- Classifiers ----

// A score for each pair of classes: above 0 it is one vote for the first of them, else for the
// second.
struct Pairs {
  std::int64_t classes;
  std::int64_t count() const { return classes * (classes - 1) / 2; }
};

// What the votes for each class are of: (pairs, classes), 1 for the first of a pair, -1 for the
// second, which has one already.
Value votes_of(Value scores, Pairs pairs) {
  Node& n = scores.node();
  const auto classes = static_cast<std::size_t>(pairs.classes);
  std::vector<double> given, changed(classes * static_cast<std::size_t>(pairs.count()), 0.0);
  for (std::size_t c = 0; c < classes; ++c) given.push_back(static_cast<double>(c));
  std::size_t pair = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t j = i + 1; j < classes; ++j, ++pair) {
      changed[i * static_cast<std::size_t>(pairs.count()) + pair] = 1;
      changed[j * static_cast<std::size_t>(pairs.count()) + pair] = -1;
    }
  }
  const Value table = numbers(n, {pairs.classes, pairs.count()}, changed, kFloat32);
  return dense((scores > 0.0).cast(kFloat32), table) + numbers(n, {pairs.classes}, given, kFloat32);
}

// The coefficients of the vectors of both classes of each pair, (pairs, vectors). The file has for
// each vector those against all other classes, in rows.
Value pair_coefficients(Node& n, const std::vector<double>& coefficients, const Ints& per_class,
                        std::int64_t vectors) {
  const Pairs pairs{static_cast<std::int64_t>(per_class.size())};
  n.make_room(static_cast<double>(pairs.count()) * static_cast<double>(vectors));
  std::vector<double> table(static_cast<std::size_t>(pairs.count() * vectors), 0.0);
  Ints begin = {0};
  for (const std::int64_t count : per_class) begin.push_back(begin.back() + count);
  std::int64_t pair = 0;
  const auto copy = [&](std::int64_t row, std::size_t of_class) {
    for (std::int64_t m = begin[of_class]; m < begin[of_class + 1]; ++m) {
      table[static_cast<std::size_t>(pair * vectors + m)] =
          coefficients[static_cast<std::size_t>(row * vectors + m)];
    }
  };
  for (std::size_t i = 0; i < per_class.size(); ++i) {
    for (std::size_t j = i + 1; j < per_class.size(); ++j, ++pair) {
      copy(static_cast<std::int64_t>(j) - 1, i);
      copy(static_cast<std::int64_t>(i), j);
    }
  }
  return numbers(n, {pairs.count(), vectors}, table, kFloat32);
}

std::int64_t count_vectors(Node& n, const Ints& per_class, const Support& s) {
  std::int64_t count = 0;
  for (const std::int64_t c : per_class) {
    if (c < 0 || c > static_cast<std::int64_t>(s.vectors.size())) {
      n.invalid(Code::kWrongAttribute, fmt::format("its `vectors_per_class` has {}", c));
    }
    count += c;
  }
  return count;
}

Value argmax_of(Value x) { return x.apply("argmax", {{"axis", Ints{1}}, {"dtype", kInt64}}); }

// A row of coefficients for each class. Where there are two, any score above 0, or of at least 0.5
// where no coefficient is negative, means the second: so onnxruntime has it.
std::vector<NodeId> linear_classes(Value x, const Classes& classes, PostTransform transform) {
  Node& n = x.node();
  const std::vector<double> coefficients = n.floats_attr("coefficients");
  const std::vector<double> rho = n.floats_attr("rho");
  if (rho.empty()) expect_length(n, "rho", 0, 1);
  const Value scores =
      dense(x, vectors_of(x, "coefficients", coefficients, classes.count)) + rho[0];
  Value place = argmax_of(scores);
  if (classes.count == 2 && !n.has_attr("prob_a")) {
    const bool is_positive = std::ranges::all_of(coefficients, [](double c) { return c >= 0; });
    const Value most = scores.apply("max", {{"axis", Ints{1}}});
    place = where(is_positive ? most >= 0.5 : most > 0.0, place.number(1), place);
  }
  return {labels_at(classes, place), transformed(scores, transform)};
}

// Probabilities of classes, from those of the first of each pair.
Value probabilities(Value scores, const std::vector<double>& a, const std::vector<double>& b,
                    Pairs pairs) {
  Node& n = scores.node();
  const auto of_pairs = [&](const std::vector<double>& v) {
    return numbers(n, {pairs.count()}, v, kFloat32);
  };
  const Value first = (0.0 - (scores * of_pairs(a) + of_pairs(b))).apply("sigmoid");
  return first.apply("pairwise_coupling", {{"classes", pairs.classes}});
}

std::vector<NodeId> convert_svm_classifier(Node& n) {
  const Value x = feature_rows(n).cast(kFloat32);
  const Classes classes = classes_attr(n, "classlabels_ints");
  if (classes.count < 2) n.unsupported("a single class");
  const PostTransform transform = post_transform_attr(n);
  const Ints per_class = n.ints_attr("vectors_per_class");
  Support s = support_attrs(n, 0);
  s.count = count_vectors(n, per_class, s);
  const std::vector<double> a = n.floats_attr("prob_a"), b = n.floats_attr("prob_b");
  if (s.count == 0) return linear_classes(x, classes, transform);
  expect_length(n, "vectors_per_class", per_class.size(), classes.count);
  const Pairs pairs{classes.count};
  const std::vector<double> coefficients = n.floats_attr("coefficients");
  expect_length(n, "coefficients", coefficients.size(), (classes.count - 1) * s.count);
  const std::vector<double> rho = n.floats_attr("rho");
  expect_length(n, "rho", rho.size(), pairs.count());
  n.make_room(static_cast<double>(pairs.count()) * static_cast<double>(pairs.classes));
  const Value scores =
      dense(kernel_of(x, s), pair_coefficients(n, coefficients, per_class, s.count)) +
      numbers(n, {pairs.count()}, rho, kFloat32);
  const NodeId labels = labels_at(classes, argmax_of(votes_of(scores, pairs)));
  if (!a.empty()) {
    expect_length(n, "prob_a", a.size(), pairs.count());
    expect_length(n, "prob_b", b.size(), pairs.count());
    return {labels, transformed(probabilities(scores, a, b, pairs), transform)};
  }
  if (classes.count > 2) return {labels, transformed(scores, transform)};
  const bool is_probability = transform != PostTransform::kNone;
  return {labels, both_classes(scores, is_probability, transform)};
}

constexpr Converter kSupportVectorsTable[] = {
    {"ai.onnx.ml.SVMRegressor", 1, convert_svm_regressor},
    {"ai.onnx.ml.SVMClassifier", 1, convert_svm_classifier},
};

}  // namespace

extern const std::span<const Converter> support_vectors_converters;
const std::span<const Converter> support_vectors_converters = kSupportVectorsTable;

}  // namespace tessera::import
