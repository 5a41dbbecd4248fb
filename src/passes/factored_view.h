// SPDX-License-Identifier: Apache-2.0
// A window onto a row-major tensor of known sizes, each dimension a product of pieces of the
// tensor's own: what chains of reshapes, transposes and slices come to, even where a dimension in
// between has no single stride.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::passes {

using Sizes = std::vector<std::int64_t>;

struct Piece {
  std::int64_t extent, stride;  // in elements
  friend bool operator==(const Piece&, const Piece&) = default;
};
using Pieces = std::vector<Piece>;  // the outermost first; none of extent 1

// Neighbours that are one run of memory become one.
Pieces joined(const Pieces& pieces);
std::int64_t extent_of(std::span<const Piece> pieces);
// The outermost in memory first.
Pieces in_order_of_memory(Pieces pieces);

struct FactoredView {
  std::vector<Pieces> dims;
  std::int64_t offset = 0;

  static FactoredView of(const Sizes& sizes);  // all of a tensor
  // One dimension each, in this order, and those of the tensor's rows last.
  static FactoredView of(const Pieces& outer, const Pieces& last);

  Sizes sizes() const;
  Pieces pieces() const;  // of all dimensions
  FactoredView transpose(std::span<const std::int64_t> axes) const;
  // Nothing where a piece would have to be cut unevenly.
  std::optional<FactoredView> reshape(const Sizes& sizes) const;
  std::optional<FactoredView> slice(std::size_t axis, std::int64_t begin,
                                    std::int64_t extent) const;

  friend bool operator==(const FactoredView&, const FactoredView&) = default;
};

// Does the view go once through a tensor of these sizes, in whatever order?
bool is_whole(const FactoredView& view, const Sizes& base);

// A slice of one axis of the base, which a view then goes through as a whole.
struct Slice {
  std::size_t axis = 0;
  std::int64_t begin = 0, extent = 0;
};
// The one that the view goes once through, and the view of what it leaves.
std::optional<Slice> find_slice(const FactoredView& view, const Sizes& sizes,
                                FactoredView& of_slice);

// A transpose that puts all pieces of a view in order, and the sizes before and after it.
struct Permuted {
  Sizes before;
  std::vector<std::int64_t> axes;
  Sizes after;
};
// That of a view that goes once through the base.
//
// Sizes of 1 have no place of their own. They are where the base has them, if it need not be
// reshaped, else in front; in the result they are where the view has them, if it has as many.
Permuted permuted(const Sizes& base, const FactoredView& view);

}  // namespace tessera::passes
