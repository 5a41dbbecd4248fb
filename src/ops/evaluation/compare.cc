// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "constants/doubles.h"

namespace tessera::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

struct Difference {
  double largest = 0;    // infinite as largest_difference says
  double magnitude = 0;  // the largest of `wanted` that is finite
};

Difference difference_of(std::span<const double> found, std::span<const double> wanted) {
  Difference of;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double f = found[i], w = wanted[i];
    if (std::isfinite(w)) of.magnitude = std::max(of.magnitude, std::abs(w));
    if (is_same(f, w)) continue;
    const bool finite = std::isfinite(f) && std::isfinite(w);
    of.largest = std::max(of.largest, finite ? std::abs(f - w) : kInfinity);
  }
  return of;
}

// What a model computes has tens of millions of elements: they are read by blocks, once.
Difference difference_of(const Tensor& found, const Tensor& wanted) {
  if (!(found.type() == wanted.type())) return {kInfinity, 0};
  if (std::ranges::equal(found.blob->bytes(), wanted.blob->bytes())) return {};
  constexpr std::int64_t kBlock = 1024;
  std::array<double, kBlock> f, w;
  Difference all;
  const std::int64_t count = wanted.num_elements();
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const auto size = static_cast<std::size_t>(std::min(kBlock, count - first));
    elements_as_doubles(found, first, std::span(f).first(size));
    elements_as_doubles(wanted, first, std::span(w).first(size));
    const Difference of = difference_of(std::span(f).first(size), std::span(w).first(size));
    all = {std::max(all.largest, of.largest), std::max(all.magnitude, of.magnitude)};
  }
  return all;
}

}  // namespace

double operator_tolerance(DType dtype) {
  if (!dtype.is_float()) return 0;
  if (dtype == kBFloat16) return 2e-2;
  if (dtype == kFloat16) return 4e-3;
  return dtype == kFloat64 ? 1e-9 : 2e-5;
}

double graph_tolerance(DType dtype) {
  if (!dtype.is_float()) return 0;
  if (dtype == kBFloat16) return 4e-2;
  if (dtype == kFloat16) return 8e-3;
  return dtype == kFloat64 ? 1e-9 : 1e-4;
}

double graph_tolerance(const relay::Function& f, DType float32_precision) {
  double tolerance = 0;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::NodeId id(i);
    if (f.op(id) == nullptr) continue;
    for (const Type& t : flatten(f.type(id))) {
      const DType precision = t.dtype() == kFloat32 ? float32_precision : t.dtype();
      tolerance = std::max(tolerance, graph_tolerance(precision));
    }
  }
  return tolerance;
}

DType float32_precision(const std::map<std::string, Extern>& externs) {
  DType least = kFloat32;
  for (const auto& [name, callee] : externs) {
    const DType precision = callee.float32_precision;
    if (graph_tolerance(precision) > graph_tolerance(least)) least = precision;
  }
  return least;
}

double largest_difference(const Tensor& found, const Tensor& wanted) {
  return difference_of(found, wanted).largest;
}

double relative_difference(const Tensor& found, const Tensor& wanted) {
  const auto [difference, magnitude] = difference_of(found, wanted);
  if (difference == 0 || std::isinf(difference)) return difference;
  return difference / std::max(magnitude, 1e-6);
}

std::string first_difference(const Tensor& found, const Tensor& wanted, double tolerance) {
  if (!(found.type() == wanted.type())) {
    return fmt::format("{} instead of {}", to_string(found.type()), to_string(wanted.type()));
  }
  for (std::int64_t i = 0; i < wanted.num_elements(); ++i) {
    if (!wanted.dtype.is_float()) {
      const std::int64_t f = element_as_int(found, i), w = element_as_int(wanted, i);
      if (f != w) return fmt::format("element {}: {} instead of {}", i, f, w);
      continue;
    }
    const double f = element_as_double(found, i), w = element_as_double(wanted, i);
    if (is_same(f, w)) continue;
    if (std::isfinite(w) && std::abs(f - w) <= tolerance * std::max(1.0, std::abs(w))) continue;
    return fmt::format("element {}: {:.9g} instead of {:.9g}", i, f, w);
  }
  return "";
}

}  // namespace tessera::ops
