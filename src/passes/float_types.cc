// SPDX-License-Identifier: Apache-2.0
#include "passes/float_types.h"

#include <algorithm>
#include <vector>

namespace tessera::passes {
namespace {

bool contains(std::span<const DType> dtypes, DType dtype) {
  return std::ranges::find(dtypes, dtype) != dtypes.end();
}

}  // namespace

bool holds(const Type& type, std::span<const DType> dtypes) {
  if (!type) return false;
  if (type.is_tensor()) return contains(dtypes, type.dtype());
  return type.is_tuple() &&
         std::ranges::any_of(type.fields(), [&](const Type& t) { return holds(t, dtypes); });
}

Type with_dtypes_as(const Type& type, std::span<const DType> dtypes, DType to) {
  if (!type) return type;
  if (type.is_tensor()) {
    return contains(dtypes, type.dtype()) ? tensor_type(type.shape(), to) : type;
  }
  if (!type.is_tuple()) return type;
  std::vector<Type> fields;
  for (const Type& field : type.fields()) fields.push_back(with_dtypes_as(field, dtypes, to));
  return tuple_type(std::move(fields));
}

bool has_float32(const Type& type) {
  static constexpr DType kOne[] = {kFloat32};
  return holds(type, kOne);
}

}  // namespace tessera::passes
