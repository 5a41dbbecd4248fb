// SPDX-License-Identifier: Apache-2.0
// How a region's function calls an attention kernel:
// O[b,h,q,:] = sum over k of softmax(scale Q[b,h,q,:] . K[b,h,k,:] + mask[b,h,q,k]) V[b,h,k,:].
#pragma once

#include <stdint.h>

#include "tessera/call.h"

namespace tessera::cutlass {

// Vectors of a head: element (batch, head, row, i) is at batch * batch_stride + head * head_stride
// + row * row_stride + i. Packed forms, [batch, row, 3, head, i], and those with heads outside,
// [batch, head, row, i], are different strides.
struct Heads {
  void* data;
  int64_t batch_stride, head_stride, row_stride;
};

struct AttentionArguments {
  int64_t batch, heads, queries, keys;
  int64_t width;  // of a head, in whole 16 bytes: up to the kernel's, which has zeros for the rest
  float scale;
  Heads q, k, v, o;
  // Added to the scaled product; elements of a row are beside each other, and a stride of 0
  // repeats. Without a mask the kernel is another one, and with an odd number of keys. A mask of
  // bytes chooses: `hidden` is the score of keys for which it is not as `seen` says.
  Heads mask;
  // Before it is scaled. With a mask that is causal as well, the score of keys behind the query;
  // one of floats is added to it.
  float hidden;
  uint8_t seen;
  int32_t dependent;  // 1: may start while the kernel before it ends
};

// A kernel. Those for sm_90a have a float for each query, rounded up to 128 of them, as workspace.
using AttentionFunction = int32_t(const tessera_call* call, const AttentionArguments* arguments);

}  // namespace tessera::cutlass
