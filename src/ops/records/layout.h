// SPDX-License-Identifier: Apache-2.0
// Layouts of image-like tensors: which dimension is which, and windows that slide over the spatial
// ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

// Dimensions by meaning: of data (N, C) or of a weight (O, I), then the spatial ones in the order
// D, H, W.
struct Places {
  std::size_t first = 0, second = 1;
  std::vector<std::size_t> spatial;

  // An index or shape in stored order from one in order of meaning.
  template <class T>
  std::vector<T> stored(T a, T b, const std::vector<T>& space) const {
    std::vector<T> out(space.size() + 2);
    out[first] = std::move(a);
    out[second] = std::move(b);
    for (std::size_t s = 0; s < space.size(); ++s) out[spatial[s]] = space[s];
    return out;
  }
};
// Reads "NHWC" with leading letters "NC", "OHWI" with "OI". Nothing if a letter is missing or
// foreign.
std::optional<Places> read_layout(std::string_view layout, std::string_view leading,
                                  std::size_t spatial);
Result<Places> layout_places(const InferArgs& args, std::string_view layout,
                             std::string_view leading, std::size_t spatial);
Places known_places(std::string_view layout, std::string_view leading, std::size_t spatial);

// One spatial dimension of a sliding window.
struct WindowAxis {
  std::int64_t size = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  std::int64_t reach() const { return dilation * (size - 1) + 1; }
};
using Window = std::vector<WindowAxis>;
// Lists must have one entry a dimension; padding may have one, n or 2n.
Result<void> expect_window_lists(const InferArgs& args, std::size_t n, const Ints& strides,
                                 const Ints& dilation, const Ints& padding);
Result<Window> make_window(const InferArgs& args, const Ints& sizes, const Ints& strides,
                           const Ints& dilation, const Ints& padding);
Window known_window(const Ints& sizes, const Ints& strides, const Ints& dilation,
                    const Ints& padding);
// How many places the window has over `size` elements.
Result<Dim> window_places(const InferArgs& args, const WindowAxis& w, const Dim& size, bool ceil);

}  // namespace tessera::ops
