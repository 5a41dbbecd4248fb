// SPDX-License-Identifier: Apache-2.0
// Operators that no loop nest can express, or only one that takes longer, with the back end's
// calling convention. Their attributes come as a JSON graph (runtime/json_graph.h) with one kernel
// node, whose first input node has the shape of the first operand:
//   payload           the graph
//   create_call_site  tessera_operator_create     destroy_call_site  tessera_operator_destroy
// In a library they are the archive "runtime_operators". They need no workspace: scratch belongs to
// the state.
#pragma once

#include "tessera/call.h"

extern "C" {

int32_t tessera_operator_create(const tessera_state_args* args, void** state);
void tessera_operator_destroy(void* state);

// x: T[o,n,i] -> values: T[o,k,i], indices: int32|int64[o,k,i] of the k largest along `axis`
// (smallest if is_ascend), in order; of equal values the one with the lower index comes first, and
// NaN counts as the largest number. Attributes: k (0: all), axis, is_ascend, ret_type = both |
// values | indices: which outputs there are.
int32_t tessera_topk(const tessera_call* call, tessera_tensor** tensors, int32_t count);

// x: T[o,n,i] -> T[o,n,i] sorted along `axis`. Attributes: axis, is_ascend.
int32_t tessera_sort(const tessera_call* call, tessera_tensor** tensors, int32_t count);

// x: T[o,n,i] -> int32|int64[o,n,i], the permutation that tessera_sort applies; stable. Attributes:
// axis, is_ascend.
int32_t tessera_argsort(const tessera_call* call, tessera_tensor** tensors, int32_t count);

// x: T[d...] -> int32[r,rank]: the places of the r elements that are not zero, in row-major order.
// The result has exactly as many rows.
int32_t tessera_argwhere(const tessera_call* call, tessera_tensor** tensors, int32_t count);

// boxes: float32[b,n,4], scores: float32[b,c,n], max_boxes: int64 (for each batch and class), iou:
// float32, score: float32
//   -> selected: int64[b*c*n,3] rows (batch, class, box) in order of batch, class, falling score;
//   zeros after them
//      count: int64[1], the number of rows.
// A box is selected if its score is above `score`, and its intersection over union with every
// selected one at most `iou`. Attributes: center_point_box: boxes are (x, y, width, height) instead
// of two corners (y, x, y, x).
int32_t tessera_non_max_suppression(const tessera_call* call, tessera_tensor** tensors,
                                    int32_t count);

// pairs: float32[n,k*(k-1)/2], of each pair of classes (0, 1), (0, 2), ... how probable the first
// is -> float32[n,k], of each class.
int32_t tessera_pairwise_coupling(const tessera_call* call, tessera_tensor** tensors,
                                  int32_t count);

// data: T[n0, ..., d...], indices: int[m, i...], updates: T[i..., d...] -> data, where slices that
// indices name are updated one after the other. Attribute: mode = update | add | mul | min | max;
// all but the first of integers, and of floats of 32 and 64 bits. An index outside names nothing.
int32_t tessera_scatter_nd(const tessera_call* call, tessera_tensor** tensors, int32_t count);

// data: T[d...], indices: int[e...], updates: T[e...] -> data, where the element at each place of
// indices, with the index along `axis`, is updated. Attributes: axis, reduction (as mode above).
int32_t tessera_scatter_elements(const tessera_call* call, tessera_tensor** tensors, int32_t count);

}  // extern "C"
