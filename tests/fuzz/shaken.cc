// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/shaken.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::fuzz {
namespace {

double rounding_of(DType dtype) {
  if (dtype == kBFloat16) return 8e-3;
  if (dtype == kFloat16) return 1e-3;
  return dtype == kFloat64 ? 1e-13 : 2e-6;
}

}  // namespace

Shaken unshaken(const Tensor& exact) {
  Shaken value{exact, {}};
  value.off.fill(exact);
  return value;
}

Tensor shake(const Tensor& t, Random& random) {
  if (!t.dtype.is_float()) return t;
  std::vector<double> values;
  double largest = 0;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    values.push_back(element_as_double(t, i));
    if (std::isfinite(values.back())) largest = std::max(largest, std::abs(values.back()));
  }
  const double unit = rounding_of(t.dtype);
  for (double& v : values) {
    v += (2 * random.unit() - 1) * unit * (std::abs(v) + 0.25 * largest);
  }
  return tensor_from_doubles(t.shape, t.dtype, values);
}

bool is_within(const Tensor& t, double low, double high) {
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    const double v = element_as_double(t, i);
    if (!(v >= low && v <= high)) return false;
  }
  return true;
}

bool is_small(const Tensor& t) {
  if (t.dtype.is_bool()) return true;
  const double limit = t.dtype == kFloat16 || t.dtype == kBFloat16 ? 50 : 500;
  return is_within(t, -limit, limit);
}

}  // namespace tessera::fuzz
