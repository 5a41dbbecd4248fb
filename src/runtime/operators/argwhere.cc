// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "runtime/operators/operators.h"
#include "runtime/operators/state.h"

namespace tessera::runtime {
namespace {

constexpr std::int32_t kMaxRank = 16;

// Elements as bits; of floating-point numbers the sign does not count: -0 is zero.
template <class Bits>
bool is_zero(const char* at, Bits ignored) {
  Bits bits;
  std::memcpy(&bits, at, sizeof bits);
  return static_cast<Bits>(bits & ~ignored) == 0;
}

template <class Bits>
std::int64_t write_places(const tessera_tensor& x, std::int64_t count, std::int32_t* rows,
                          std::int64_t room) {
  const bool has_sign = x.dtype.code == TESSERA_FLOAT || x.dtype.code == TESSERA_BFLOAT;
  const Bits ignored = has_sign ? static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1)) : Bits{0};
  const char* data = static_cast<const char*>(x.data) + x.byte_offset;
  std::int64_t index[kMaxRank] = {}, found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_zero(data + i * static_cast<std::int64_t>(sizeof(Bits)), ignored)) {
      if (found == room) return found + 1;
      for (std::int32_t d = 0; d < x.ndim; ++d) {
        rows[found * x.ndim + d] = static_cast<std::int32_t>(index[d]);
      }
      ++found;
    }
    for (std::int32_t d = x.ndim; d-- > 0 && ++index[d] == x.shape[d];) index[d] = 0;
  }
  return found;
}

}  // namespace
}  // namespace tessera::runtime

std::int32_t tessera_argwhere(const tessera_call* call, tessera_tensor** tensors,
                              std::int32_t count) {
  using namespace tessera::runtime;
  if (count != 2 || tensors[0]->ndim > kMaxRank || tensors[1]->ndim != 2) {
    return operator_error(call, "argwhere: one operand, and a result of two dimensions");
  }
  const tessera_tensor& x = *tensors[0];
  const tessera_tensor& y = *tensors[1];
  std::int64_t elements = 1;
  for (std::int32_t d = 0; d < x.ndim; ++d) elements *= x.shape[d];
  auto* rows = reinterpret_cast<std::int32_t*>(static_cast<char*>(y.data) + y.byte_offset);
  const std::int64_t room = y.shape[0];
  const std::int64_t found =
      x.dtype.bits <= 8    ? write_places<std::uint8_t>(x, elements, rows, room)
      : x.dtype.bits == 16 ? write_places<std::uint16_t>(x, elements, rows, room)
      : x.dtype.bits == 32 ? write_places<std::uint32_t>(x, elements, rows, room)
                           : write_places<std::uint64_t>(x, elements, rows, room);
  if (found == room) return 0;
  return operator_error(call, "argwhere: the result has another size than there are places");
}
