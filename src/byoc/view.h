// SPDX-License-Identifier: Apache-2.0
// A strided window onto a tensor's row-major bytes: what reshapes and transposes become when a
// primitive absorbs them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "types/dim.h"

namespace tessera::byoc {

using Ints = std::vector<std::int64_t>;  // numbers of attributes; sizes may be symbolic

struct View {
  Shape dims, strides;  // in elements

  static View of(Shape dims);  // all of it, row-major
  std::size_t rank() const { return dims.size(); }

  // Dimension i of the result is dimension axes[i] of this.
  View transpose(std::span<const std::int64_t> axes) const;
  // The same elements in the same order under other dimensions; nothing if that needs a copy.
  std::optional<View> reshape(const Shape& dims) const;
  // Merges dimensions [first, first + count) into one; nothing if that needs a copy.
  std::optional<View> merge(std::size_t first, std::size_t count) const;
  // A dimension of size 1 before dimension `at`.
  View insert(std::size_t at) const;
  View erase(std::size_t at) const;  // of size 1
  // Strides of dimensions of size 1 mean nothing; libraries compare them none the less. Gives them
  // the values that they have in a permutation of a row-major tensor.
  View with_regular_strides() const;

  bool operator==(const View&) const = default;
};

Shape row_major_strides(const Shape& dims);

}  // namespace tessera::byoc
