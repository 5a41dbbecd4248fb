// SPDX-License-Identifier: Apache-2.0
#include "runtime/lossless/block.h"

namespace tessera::lossless {
namespace {

// The bytes of a block that are not read yet.
struct Rest {
  const unsigned char* bytes;
  std::uint64_t size;

  // The next `count` bytes; null: there are not as many.
  const unsigned char* take(std::uint64_t count) {
    if (size < count) return nullptr;
    const unsigned char* taken = bytes;
    bytes += count;
    size -= count;
    return taken;
  }
};

bool read_coded(Rest& in, std::uint64_t count, PrefixCode& code, unsigned char* out) {
  const unsigned char* lengths = in.take(kCodeBytes);
  std::uint32_t sizes[kStreams];
  const unsigned char* stored = in.take(sizeof sizes);
  if (lengths == nullptr || stored == nullptr) return false;
  std::memcpy(sizes, stored, sizeof sizes);
  std::uint64_t all = 0;
  for (const std::uint32_t size : sizes) all += size;
  const unsigned char* streams = in.take(all);
  return streams != nullptr && code.read(lengths) && code.decode(streams, sizes, out, count);
}

// The plane's bytes; null: it is none.
const unsigned char* read_plane(Rest& in, std::uint64_t count, PrefixCode& code,
                                unsigned char* memory) {
  const unsigned char* kind = in.take(1);
  if (kind == nullptr) return nullptr;
  switch (*kind) {
    case kPlain:
      return in.take(count);
    case kSame: {
      const unsigned char* value = in.take(1);
      if (value == nullptr) return nullptr;
      std::memset(memory, *value, count);
      return memory;
    }
    case kCoded:
      return read_coded(in, count, code, memory) ? memory : nullptr;
    default:
      return nullptr;
  }
}

// Compilers use vectors where they know that nothing overlaps.
void join_planes(const unsigned char* __restrict high, const unsigned char* __restrict low,
                 std::uint64_t count, std::uint16_t* __restrict out) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const unsigned rotated = unsigned{high[i]} << 8 | low[i];
    out[i] = static_cast<std::uint16_t>(rotated >> 1 | rotated << 15);
  }
}

void join_planes(const unsigned char* __restrict a, const unsigned char* __restrict b,
                 const unsigned char* __restrict c, const unsigned char* __restrict d,
                 std::uint64_t count, std::uint32_t* __restrict out) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t high = std::uint32_t{a[i]} << 24 | std::uint32_t{b[i]} << 16;
    const std::uint32_t rotated = high | std::uint32_t{c[i]} << 8 | d[i];
    out[i] = rotated >> 1 | rotated << 31;
  }
}

}  // namespace

bool unpack_block(const unsigned char* in, std::uint64_t size, std::uint64_t count,
                  unsigned element_bytes, void* out, Workspace& workspace) {
  Rest rest = {in, size};
  const unsigned char* planes[kMostPlanes];
  for (unsigned p = 0; p < element_bytes; ++p) {
    planes[p] = read_plane(rest, count, workspace.codes[p], workspace.planes[p]);
    if (planes[p] == nullptr) return false;
  }
  if (rest.size != 0) return false;
  if (element_bytes == 2) {
    join_planes(planes[0], planes[1], count, static_cast<std::uint16_t*>(out));
  } else {
    join_planes(planes[0], planes[1], planes[2], planes[3], count,
                static_cast<std::uint32_t*>(out));
  }
  return true;
}

}  // namespace tessera::lossless
