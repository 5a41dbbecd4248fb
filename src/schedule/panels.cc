// SPDX-License-Identifier: Apache-2.0
#include "schedule/panels.h"

#include <algorithm>
#include <cstring>

#include "constants/made_weight.h"

namespace tessera::schedule {

namespace {

// Copies elements of one type.
class Copier {
 public:
  Copier(const Tensor& source, std::byte* to)
      : from_(source.blob->bytes().data()),
        to_(to),
        bytes_(static_cast<std::size_t>(source.dtype.size_bytes())) {}

  // To this place of the result.
  void copy(std::int64_t to, std::int64_t from) const {
    std::memcpy(to_ + static_cast<std::size_t>(to) * bytes_,
                from_ + static_cast<std::size_t>(from) * bytes_, bytes_);
  }

 private:
  const std::byte* from_;
  std::byte* to_;
  std::size_t bytes_;
};

std::vector<std::int64_t> shape_of(const Panels& panels) {
  std::vector<std::int64_t> shape;
  for (const Axis& a : panels.outer) shape.push_back(a.size);
  shape.push_back((panels.column.size + panels.width - 1) / panels.width);
  for (const Axis& a : panels.inner) shape.push_back(a.size);
  if (panels.neighbours > 1) {
    shape.back() = (shape.back() + panels.neighbours - 1) / panels.neighbours;
  }
  shape.push_back(panels.width);
  if (panels.neighbours > 1) shape.push_back(panels.neighbours);
  return shape;
}

}  // namespace

Tensor packed(const Tensor& source, const Panels& panels) {
  const std::vector<std::int64_t> shape = shape_of(panels);
  std::int64_t elements = 1;
  for (const std::int64_t n : shape) elements *= n;
  std::vector<std::byte> out(static_cast<std::size_t>(elements * source.dtype.size_bytes()));
  const Copier copier(source, out.data());
  std::vector<Axis> inner = panels.inner;
  Axis last{1, 0};
  if (panels.neighbours > 1) last = inner.back(), inner.pop_back();
  const std::int64_t side_by_side = panels.neighbours;
  std::int64_t to = 0;
  const auto copy_lanes = [&](std::int64_t from, std::int64_t lanes) {
    for (std::int64_t k = 0; k < last.size; k += side_by_side, to += panels.width * side_by_side) {
      const std::int64_t count = std::min(side_by_side, last.size - k);
      for (std::int64_t i = 0; i < lanes * count; ++i) {
        const std::int64_t lane = i / count, one = i % count;
        copier.copy(to + lane * side_by_side + one,
                    from + lane * panels.column.stride + (k + one) * last.stride);
      }
    }
  };
  for_each_place(panels.outer, panels.first, [&](std::int64_t outer) {
    for (std::int64_t column = 0; column < panels.column.size; column += panels.width) {
      const std::int64_t lanes = std::min(panels.width, panels.column.size - column);
      for_each_place(inner, outer + column * panels.column.stride,
                     [&](std::int64_t place) { copy_lanes(place, lanes); });
    }
  });
  return {shape, source.dtype, made_weight(std::move(out))};
}

}  // namespace tessera::schedule
