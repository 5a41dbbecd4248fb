// SPDX-License-Identifier: Apache-2.0
// Norms of rows: those of ONNX, and those that onnxruntime's optimiser puts in their place.
#include <optional>

#include "import/converters.h"
#include "import/indices.h"
#include "import/quantization.h"

namespace tessera::import {
namespace {

// What is normalised: all dimensions of x from the axis on, which the operators see as one.
struct Rows {
  Value x;
  std::int64_t axis;
  double epsilon;
  bool subtracts_mean;
};

Rows rows_of(Node& n, bool subtracts_mean) {
  const Value x = input(n, 0);
  n.ignore_attr("stash_type");  // narrow floats are widened anyway
  return {x, n.axis_attr(-1, x), n.float_attr("epsilon", 1e-5), subtracts_mean};
}

// The result has the scale's type, which need not be that of x.
Value normal(const Rows& rows, Value scale, std::optional<Value> bias = {}) {
  Node& n = scale.node();
  const Shape row = rows.x.dims(rows.axis, rows.x.rank());
  const Dim width = num_elements(row);
  const DType type = scale.dtype(), wide = type == rows.x.dtype() ? type : kFloat32;
  const auto param = [&](Value p) {
    return p.cast(wide).broadcast_to(row).reshape_to(Shape{width});
  };
  const Value merged = rows.x.cast(wide).merge(rows.axis, rows.x.rank());
  std::vector<NodeId> args = {merged, param(scale)};
  if (rows.subtracts_mean) args.push_back(param(bias ? *bias : scale.number(0)));
  const Value y(n, n.call(rows.subtracts_mean ? "nn.layer_norm" : "nn.rms_norm", args,
                          {{"axis", -1}, {"epsilon", rows.epsilon}}));
  return y.unmerge(rows.x).cast(type);
}

struct Statistics {
  Value mean, inverse_deviation;
};

// In float32; without a mean, around 0.
Statistics statistics(const Rows& rows) {
  const Ints axes = range(rows.axis, rows.x.rank());
  const Value x = rows.x.cast(kFloat32), mean = x.mean(axes);
  const Value deviation = rows.subtracts_mean ? x - mean : x;
  return {mean, ((deviation * deviation).mean(axes) + rows.epsilon).apply("rsqrt")};
}

// The mean and the inverse deviation, if asked for, are results of their own.
std::vector<NodeId> convert_layer_norm(Node& n) {
  const Rows rows = rows_of(n, true);
  const std::optional<Value> bias = n.has_input(2) ? std::optional(input(n, 2)) : std::nullopt;
  std::vector<NodeId> results = {normal(rows, input(n, 1), bias)};
  if (n.uses_output(1) || n.uses_output(2)) {
    const Statistics s = statistics(rows);
    results.insert(results.end(), {s.mean, s.inverse_deviation});
  }
  return results;
}

// The inverse deviation, if asked for, is a result of its own.
std::vector<NodeId> convert_rms_norm(Node& n) {
  const Rows rows = rows_of(n, false);
  std::vector<NodeId> results = {normal(rows, input(n, 1))};
  if (n.uses_output(1)) results.push_back(statistics(rows).inverse_deviation);
  return results;
}

// The norm of a sum, which is a result, too: the last one, after two that only training asks for.
std::vector<NodeId> skip_norm(Node& n, bool subtracts_mean, std::optional<Value> beta,
                              std::size_t bias) {
  Value sum = input(n, 0) + input(n, 1);
  if (sum.rank() < 1) n.invalid(Code::kShapeMismatch, "its input is a scalar");
  if (n.has_input(bias)) sum = sum + input(n, bias);
  const Rows rows{sum, n.axis(-1, sum.rank()), n.float_attr("epsilon", 1e-12), subtracts_mean};
  const Value y = normal(rows, input(n, 2), beta);
  if (!n.uses_output(1) && !n.uses_output(2)) return {y, y, y, sum};
  const Statistics s = statistics(rows);
  return {y, s.mean, s.inverse_deviation, sum};
}

std::vector<NodeId> convert_skip_layer_norm(Node& n) {
  return skip_norm(n, true, n.has_input(3) ? std::optional(input(n, 3)) : std::nullopt, 4);
}

std::vector<NodeId> convert_skip_rms_norm(Node& n) { return skip_norm(n, false, std::nullopt, 3); }

// The number of ones in each row of a mask; zeros where there is none.
Value mask_index(Node& n, Value ids) {
  if (n.has_input(7)) return equal(input(n, 7), 1.0).cast(kInt32).sum({1}, false);
  return Value(n, n.scalar(0, kInt32)).broadcast_to({ids.dim(0)});
}

// A weight of an embedding. In the quantised form, weights are inputs 2 to 6; their scales are
// inputs 8 to 12, and their zero points 13 to 17.
Value weight(Node& n, std::size_t i, Value rows, bool is_quantized) {
  if (!is_quantized) return rows;
  return (rows.cast(kFloat32) - number_of(n, i + 11)) * number_of(n, i + 6);
}

Value rows_at(Node& n, std::size_t table, NodeId places, bool is_quantized) {
  const Value rows = input(n, table);
  if (rows.rank() != 2) n.invalid(Code::kShapeMismatch, "its embeddings must have two dimensions");
  return weight(n, table, take_checked(rows, places, 0), is_quantized);
}

// Rows of tables, one for each token: of its word, its place and, if given, its segment.
Value embedding_sum(Node& n, Value ids, bool is_quantized) {
  const bool has_places = !is_quantized && n.has_input(8);
  const Value places = has_places ? input(n, 8) : iota_along(ids, 1);
  const Value sum = rows_at(n, 2, ids, is_quantized) + rows_at(n, 3, places, is_quantized);
  if (n.has_input(1) != n.has_input(4)) {
    n.invalid(Code::kWrongArity, "segments and their embedding are given both or not at all");
  }
  return n.has_input(1) ? sum + rows_at(n, 4, n.input(1), is_quantized) : sum;
}

std::vector<NodeId> embed_layer_norm(Node& n, bool is_quantized) {
  const Value ids = input(n, 0);
  if (ids.rank() != 2) n.invalid(Code::kShapeMismatch, "its input must have two dimensions");
  n.ignore_attr("mask_index_type");  // says no more than the output's use
  const Value sum = embedding_sum(n, ids, is_quantized);
  const Rows rows{sum, 2, n.float_attr("epsilon", 1e-12), true};
  const auto of_norm = [&](std::size_t i) { return weight(n, i, input(n, i), is_quantized); };
  return {normal(rows, of_norm(5), of_norm(6)), mask_index(n, ids), sum};
}

std::vector<NodeId> convert_embed_layer_norm(Node& n) { return embed_layer_norm(n, false); }

// It has no sum among its results.
std::vector<NodeId> convert_quantized_embed_layer_norm(Node& n) {
  std::vector<NodeId> results = embed_layer_norm(n, true);
  results.pop_back();
  // Those of segments, which need not be there.
  for (const std::size_t i : {10, 15}) n.ignore_input(i);
  return results;
}

constexpr Converter kRowNormsTable[] = {
    {"LayerNormalization", 17, convert_layer_norm},
    {"RMSNormalization", 23, convert_rms_norm},
    {"SimplifiedLayerNormalization", 1, convert_rms_norm},
    {"com.microsoft.EmbedLayerNormalization", 1, convert_embed_layer_norm},
    {"com.microsoft.QEmbedLayerNormalization", 1, convert_quantized_embed_layer_norm},
    {"com.microsoft.SkipLayerNormalization", 1, convert_skip_layer_norm},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, convert_skip_rms_norm},
};

}  // namespace

extern const std::span<const Converter> row_norms_converters;
const std::span<const Converter> row_norms_converters = kRowNormsTable;

}  // namespace tessera::import
