// SPDX-License-Identifier: Apache-2.0
#include "passes/float8_products.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diagnostics/places.h"
#include "ops/attrs/quantize.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Function;
using relay::NodeId;

// `main` with the largest magnitudes in place of its result.
Function observed(const Function& f, const std::vector<NodeId>& values,
                  const relay::OperatorTable& operators) {
  const Type number = tensor_type({}, kFloat32);
  const auto close = [&](relay::Copier& c, relay::RegionId region) {
    if (region != Function::kBody) return c.map(f.region(region).result);
    relay::FunctionBuilder& b = c.builder();
    std::vector<NodeId> fields;
    for (const NodeId value : values) {
      const NodeId sizes = b.call(*operators.find("abs"), {c.map(value)});
      b.set_type(sizes, f.type(value));
      fields.push_back(b.call(*operators.find("max"), {sizes}));
      b.set_type(fields.back(), number);
    }
    const NodeId all = b.tuple(fields);
    b.set_type(all, tuple_type(std::vector<Type>(fields.size(), number)));
    return all;
  };
  // Live are the nodes that the values need; those of the old result are left out by who compiles.
  Function out = relay::rewrite(
      f, [](relay::Copier&, NodeId) { return std::optional<NodeId>(); }, {}, close);
  out.result_annotation = {};
  out.attrs.erase("output_names");
  return out;
}

Diagnostic no_scale(const Function& f, NodeId value, double largest) {
  const std::vector<std::string> names = nodes_of_model(f[value].location);
  return error(Code::kBadInput, f[value].location,
               "calibration finds no scale: what the product reads {} {}",
               largest == 0 ? "is zero in all inputs, as" : "is not finite, as",
               names.empty() ? "this value" : fmt::format("`{}` gives it", names.front()))
      .with_remedy("give inputs as they occur, or `dynamic` for this product");
}

}  // namespace

std::string why_no_float8_product(const Dim& columns, const Dim& terms) {
  constexpr std::int64_t kTerms = 16, kColumns = 8;
  const auto suits = [](const Dim& size, std::int64_t of) {
    return size.is_constant() && size.constant() > 0 && size.constant() % of == 0;
  };
  if (suits(terms, kTerms) && suits(columns, kColumns)) return "";
  return fmt::format(
      "floats of eight bits need sums of a multiple of {} terms for a multiple of {} columns, not "
      "{} and {}",
      kTerms, kColumns, to_string(terms), to_string(columns));
}

bool is_calibrated(const Float8Form& form, bool can_be) {
  return form.data == Float8Form::Data::kStatic ||
         (form.data == Float8Form::Data::kCalibratedIfCan && can_be);
}

NodeId Float8Builder::call(std::string_view op, std::initializer_list<NodeId> operands,
                           const Type& type, relay::Attrs attrs) const {
  const NodeId id = b.call(*operators.find(op), operands, std::move(attrs));
  b.set_type(id, type);
  return id;
}

NodeId Float8Builder::scale_for(double largest) const {
  const Tensor scale = Tensor::scalar(static_cast<float>(largest / kFloat8E4M3.largest), kFloat32);
  const NodeId id = b.constant(scale);
  b.set_type(id, scale.type());
  return id;
}

NodeId Float8Builder::rounded(NodeId x, const Type& type, NodeId scale) const {
  const NodeId codes = call("qnn.quantize_float8", {x, scale}, tensor_type(type.shape(), kUInt8));
  return call("qnn.dequantize_float8", {codes, scale}, type);
}

NodeId Float8Builder::rounded_by_rows(NodeId x, const Type& type) const {
  Shape rows = type.shape();
  rows.back() = Dim(1);
  return rounded(x, type, call("qnn.float8_scale", {x}, tensor_type(std::move(rows), kFloat32)));
}

NodeId Float8Builder::product(NodeId data, const Float8Matrix& matrix, const Type& type) const {
  const auto constant = [&](const Tensor& tensor) {
    const NodeId id = b.constant(tensor);
    b.set_type(id, tensor.type());
    return id;
  };
  Tensor scale = matrix.scale;
  if (!scale.shape.empty()) scale.shape.push_back(1);  // one a row of the stored matrix
  const std::int64_t columns = matrix.codes.shape[0], terms = matrix.codes.shape[1];
  const NodeId numbers = call("qnn.dequantize_float8", {constant(matrix.codes), constant(scale)},
                              tensor_type({Dim(columns), Dim(terms)}, kFloat32));
  return call("nn.dense", {data, numbers}, type, {{"units", columns}});
}

Result<LargestMagnitudes> largest_magnitudes(const Module& module,
                                             const std::vector<NodeId>& values,
                                             PassContext& context) {
  LargestMagnitudes all;
  if (values.empty()) return all;
  const Function& main = module.functions.at("main");
  Module runs = module;
  runs.functions.at("main") = observed(main, values, context.operators);
  TESSERA_TRY(const std::vector<double> greatest, context.greatest_results(std::move(runs)));
  Diagnostics problems;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double largest = greatest[i];
    if (largest > 0 && std::isfinite(largest)) {
      all[values[i]] = largest;
    } else {
      problems.add(no_scale(main, values[i], largest));
    }
  }
  if (!problems.empty()) return fail(std::move(problems));
  return all;
}

}  // namespace tessera::passes
