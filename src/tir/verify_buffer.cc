// SPDX-License-Identifier: Apache-2.0
#include "tir/verify_buffer.h"

#include <algorithm>

#include <fmt/format.h>

#include "types/rank.h"

namespace tessera::tir {
namespace {

// The bytes if every extent is a number: false where 64 bits do not count them.
bool count_bytes(const BufferNode& b, std::int64_t& bytes) {
  bytes = b.dtype.size_bytes();
  for (const Expr& extent : b.shape) {
    const std::int64_t* n = as_int(extent);
    if (n != nullptr && __builtin_mul_overflow(bytes, *n, &bytes)) return false;
  }
  return true;
}

}  // namespace

std::int64_t constant_bytes(const Buffer& buffer) {
  std::int64_t bytes = constant_size(buffer);
  const bool fits = !__builtin_mul_overflow(bytes, buffer->dtype.size_bytes(), &bytes);
  return fits && bytes >= 0 ? bytes : -1;
}

bool has_type_of(const BufferNode& buffer, const Tensor& data) {
  const auto is_size = [](const Expr& extent, std::int64_t n) { return is_int(extent, n); };
  return data.dtype == buffer.dtype && std::equal(buffer.shape.begin(), buffer.shape.end(),
                                                  data.shape.begin(), data.shape.end(), is_size);
}

std::vector<std::string> verify_buffer(const BufferNode& b, bool in_host_program) {
  std::vector<std::string> found;
  if (b.shape.size() > static_cast<std::size_t>(kMostDimensions)) {
    return {fmt::format("a buffer of {} dimensions, of which {} are possible", b.shape.size(),
                        kMostDimensions)};
  }
  const auto is_negative = [](const Expr& e) {
    const std::int64_t* n = as_int(e);
    return n != nullptr && *n < 0;
  };
  if (std::any_of(b.shape.begin(), b.shape.end(), is_negative)) {
    found.emplace_back("a negative extent");
  }
  if (b.dtype.lanes != 1) found.emplace_back("a buffer whose elements are vectors");
  if (!b.strides.empty() && b.strides.size() != b.shape.size()) {
    found.emplace_back("strides that do not fit the dimensions");
  }
  if (in_host_program && b.scope == MemoryScope::kStack && b.space && !is_on_host(*b.space)) {
    found.push_back(fmt::format("a stack buffer of a host program in the memory space `{}`",
                                to_string(*b.space)));
  }
  std::int64_t bytes = 0;
  if (!count_bytes(b, bytes)) {
    found.emplace_back("a buffer of more bytes than 64 bits count");
  } else if (b.scope == MemoryScope::kStack && !in_host_program) {
    const bool known = std::all_of(b.shape.begin(), b.shape.end(),
                                   [](const Expr& e) { return as_int(e) != nullptr; });
    if (!known) found.emplace_back("a stack buffer whose size is not a number");
    if (bytes > kMaxStackBytes) {
      found.push_back(fmt::format("a stack buffer of {} bytes, of which {} are possible", bytes,
                                  kMaxStackBytes));
    }
  }
  return found;
}

}  // namespace tessera::tir
