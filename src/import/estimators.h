// SPDX-License-Identifier: Apache-2.0
// What the estimators of ai.onnx.ml share: rows of features, classes, and what is done to scores.
#pragma once

#include "import/value.h"

namespace tessera::import {

// The first input as rows of features, (n, f); a list is one row.
Value feature_rows(Node& n);
// `count` numbers for each feature's or row's place; an error if an attribute has not so many.
void expect_length(Node& n, std::string_view attribute, std::size_t found, std::int64_t wanted);
// One of `names`, by its place; an error for any other text.
std::size_t choice_attr(Node& n, std::string_view attribute,
                        std::initializer_list<std::string_view> names, std::size_t fallback);

// ---- Scores ----
enum class PostTransform : std::uint8_t { kNone, kLogistic, kSoftmax, kSoftmaxZero, kProbit };
PostTransform post_transform_attr(Node& n);
// Rows of scores of two or more classes or targets, transformed.
Value transformed(Value scores, PostTransform transform);
// The same for regressors. One target is a number, not a class: only probit changes it.
Value transformed_targets(Value scores, PostTransform transform);
// The scores of two classes from that of the second, (n, 1): 1 - p and p, or -s and s; of both the
// logistic function, if asked for.
Value both_classes(Value second, bool is_probability, PostTransform transform);

// ---- Classes ----
// The labels of a classifier. Strings are not tensors: their scores are.
struct Classes {
  Ints labels;
  std::int64_t count = 0;
  bool are_strings = false;
};
Classes classes_attr(Node& n, std::string_view ints);
// The labels of classes by their places, int64; no value for strings.
NodeId labels_at(const Classes& classes, Value places);

}  // namespace tessera::import
