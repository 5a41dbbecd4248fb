// SPDX-License-Identifier: Apache-2.0
#include "runtime/inflate/inflate.h"

#include <algorithm>
#include <climits>

#include <zlib.h>

std::int32_t tessera_inflate(const void* packed, std::uint64_t packed_bytes, void* out,
                             std::uint64_t bytes) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return 1;
  stream.next_in = static_cast<Bytef*>(const_cast<void*>(packed));
  stream.next_out = static_cast<Bytef*>(out);
  int status = Z_OK;
  while (status == Z_OK && (packed_bytes > 0 || bytes > 0)) {  // zlib counts in 32 bits
    const auto in = static_cast<uInt>(std::min<std::uint64_t>(packed_bytes, UINT_MAX));
    const auto room = static_cast<uInt>(std::min<std::uint64_t>(bytes, UINT_MAX));
    stream.avail_in = in;
    stream.avail_out = room;
    status = inflate(&stream, Z_NO_FLUSH);
    packed_bytes -= in - stream.avail_in;
    bytes -= room - stream.avail_out;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && bytes == 0 ? 0 : 1;
}
