// SPDX-License-Identifier: Apache-2.0
// A block's part of a convolution in groups in floats of 16 bits, whose channels lie last, as
// kernels for a device have it: the form that schedules make, and that emitters know again and
// write as a call of tessera/window_product.cuh. It is loops like any others, so whoever does not
// know it computes the same.
#pragma once

#include <cstdint>
#include <optional>

#include "tir/index_form.h"
#include "tir/stmt.h"

namespace tessera::tir {

// A dimension of the image: how far the window moves, and how far its places lie apart.
struct WindowSteps {
  std::int64_t stride = 1, dilation = 1;
};

// sums[i, r, c, o] = sum over kh, kw, ci of
//   image[first_image + i, top + r * stride + kh * dilation, left + c * ..., channel + ci]
//   * weight[kh, kw, ci, first_result + o], outside of the image 0,
// for as many as a block makes, by a loop over as many threads. `channel` is the first of the
// group that the result belongs to.
struct WindowProduct {
  Buffer image;   // T[images, height, width, channels]
  Buffer weight;  // T[window's rows, columns, channels of a group, results of all groups]
  Buffer sums;    // float32[images, rows, columns, row_of_sums()], shared by the block
  WindowSteps down, across;
  std::int64_t results = 0;  // of a block: those of whole groups, or a part of one's
  Expr first_image, top, left, first_result;

  std::int64_t images() const;
  std::int64_t rows() const;
  std::int64_t columns() const;
  std::int64_t channels_of_group() const;
  std::int64_t results_of_group() const;
  std::int64_t groups() const;  // of which a block makes results
  // Of which a block has what its windows see at a time: all, or one after the other. It lies where
  // sums do afterwards.
  std::int64_t images_at_once() const;
  // Places of a row of sums, so that these are large enough; the last dimension of `sums` does not
  // matter to it.
  std::int64_t row_of_sums() const;
};
inline constexpr std::int64_t kAlignedChannels = 8;     // vectors, of which groups are whole
inline constexpr std::int64_t kSharedBytes = 48 << 10;  // of a block, at most

// Do the buffers, and what a block makes, have sizes that the call can be made with?
bool fits(const WindowProduct& p);
// Shared memory that a block takes, with that of the sums.
std::int64_t window_product_bytes(const WindowProduct& p);

Stmt window_product(const WindowProduct& p);
// `bounds`: of the variables around the loop.
std::optional<WindowProduct> as_window_product(const For& loop, const Bounds& bounds);

}  // namespace tessera::tir
