// SPDX-License-Identifier: Apache-2.0
// What the linker of a model sees of this archive.
#pragma once

#include <cstdint>

// Unpacks data in zlib's format (RFC 1950) into `bytes` bytes, which must be all of it. Not zero:
// it is not such data, or there is no memory.
extern "C" std::int32_t tessera_inflate(const void* packed, std::uint64_t packed_bytes, void* out,
                                        std::uint64_t bytes);
