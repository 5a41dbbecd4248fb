// SPDX-License-Identifier: Apache-2.0
#include "types/computed.h"

#include <algorithm>

namespace tessera {

bool is_computed(DType dtype) {
  constexpr DType kAll[] = {kBool,   kInt8,   kInt16,   kInt32,   kInt64,   kUInt8,   kUInt16,
                            kUInt32, kUInt64, kFloat16, kFloat32, kFloat64, kBFloat16};
  return std::find(std::begin(kAll), std::end(kAll), dtype) != std::end(kAll);
}

Type uncomputed_tensor(const Type& type) {
  if (type && type.is_tensor()) return is_computed(type.dtype()) ? Type() : type;
  if (!type || !type.is_tuple()) return {};
  for (const Type& field : type.fields()) {
    if (const Type found = uncomputed_tensor(field)) return found;
  }
  return {};
}

}  // namespace tessera
