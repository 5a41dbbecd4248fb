// SPDX-License-Identifier: Apache-2.0
#include "schedule/panels.h"

#include <algorithm>
#include <cstring>

#include "constants/made_weight.h"

namespace tessera::schedule {

Tensor packed(const Tensor& source, const Panels& panels) {
  const std::int64_t blocks = (panels.column.size + panels.width - 1) / panels.width;
  std::vector<std::int64_t> shape;
  for (const Axis& a : panels.outer) shape.push_back(a.size);
  shape.push_back(blocks);
  for (const Axis& a : panels.inner) shape.push_back(a.size);
  shape.push_back(panels.width);
  const std::int64_t side_by_side = panels.neighbours.size;
  if (side_by_side > 1) shape.push_back(side_by_side);
  std::int64_t elements = 1;
  for (const std::int64_t n : shape) elements *= n;
  const auto bytes = static_cast<std::size_t>(source.dtype.size_bytes());
  std::vector<std::byte> out(static_cast<std::size_t>(elements) * bytes);
  std::byte* to = out.data();
  const std::byte* from = source.blob->bytes().data();
  for_each_place(panels.outer, panels.first, [&](std::int64_t outer) {
    for (std::int64_t column = 0; column < panels.column.size; column += panels.width) {
      const std::int64_t lanes = std::min(panels.width, panels.column.size - column);
      const std::int64_t first = outer + column * panels.column.stride;
      for_each_place(panels.inner, first, [&](std::int64_t place) {
        for (std::int64_t i = 0; i < lanes * side_by_side; ++i) {
          const std::int64_t at = place + i / side_by_side * panels.column.stride +
                                  i % side_by_side * panels.neighbours.stride;
          std::memcpy(to + static_cast<std::size_t>(i) * bytes,
                      from + static_cast<std::size_t>(at) * bytes, bytes);
        }
        to += static_cast<std::size_t>(panels.width * side_by_side) * bytes;
      });
    }
  });
  return {shape, source.dtype, made_weight(std::move(out))};
}

}  // namespace tessera::schedule
