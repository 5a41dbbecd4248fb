// SPDX-License-Identifier: Apache-2.0
// One block of a packed weight.
#pragma once

#include "runtime/lossless/prefix_code.h"

namespace tessera::lossless {

inline constexpr int kMostPlanes = 4;

// What a thread that decodes needs besides: 550 KB.
struct Workspace {
  PrefixCode codes[kMostPlanes];  // of the planes of the block before, too
  unsigned char planes[kMostPlanes][kBlockElements];
};

// Unpacks `count` elements, at most kBlockElements, of `element_bytes` (2 or 4) to `out`, which is
// aligned to them. False: the `size` bytes are no such block. Nothing outside of `out` and `in` is
// touched, whatever they hold.
[[nodiscard]] bool unpack_block(const unsigned char* in, std::uint64_t size, std::uint64_t count,
                                unsigned element_bytes, void* out, Workspace& workspace);

}  // namespace tessera::lossless
