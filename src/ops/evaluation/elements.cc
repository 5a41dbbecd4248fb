// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/elements.h"

#include <limits>

namespace tessera::ops {

void fail_outside(std::int64_t index, std::int64_t count) {
  throw EvaluationFailure(Code::kIndexOutOfRange,
                          fmt::format("index {} lies outside of {} elements", index, count));
}

std::size_t checked_count(std::int64_t count) {
  // No element takes more than eight bytes.
  if (count < 0 || count > std::numeric_limits<std::int64_t>::max() / 8) {
    throw EvaluationFailure(Code::kBadDimension, "the sizes overflow 64 bits");
  }
  return static_cast<std::size_t>(count);
}

std::int64_t checked_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) {
    throw EvaluationFailure(
        Code::kIndexOutOfRange,
        fmt::format("index {} lies outside of a dimension of {} elements", index, size));
  }
  return index < 0 ? index + size : index;
}

double element_count(const Type& type) {
  double n = 1;
  for (const Dim& d : type.shape()) n *= static_cast<double>(d.as_constant().value_or(1));
  return n;
}

}  // namespace tessera::ops
