// SPDX-License-Identifier: Apache-2.0
// Operators that move elements without looking at them.
#include <algorithm>
#include <numeric>

#include "backends/tensorrt/converters.h"
#include "ops/attrs/shape.h"

namespace tessera::backends::tensorrt {

ValueOr reshape(Call& c) { return c.reshaped(c.operand(0), c.result_shape()); }

ValueOr transpose(Call& c) {
  const std::size_t rank = c.shape(0).size();
  Ints axes(rank);
  std::iota(axes.rbegin(), axes.rend(), 0);
  if (const auto given = c.attrs<ops::TransposeAttrs>().axes) axes = *given;
  for (std::int64_t& axis : axes) axis = from_front(axis, rank);
  return c.layer("shuffle", {c.operand(0)}, {{"axes", texts_of(axes)}});
}

ValueOr concatenate(Call& c) {
  const std::int64_t axis =
      from_front(c.attrs<ops::ConcatenateAttrs>().axis, c.result_shape().size());
  return c.layer("concatenation", c.fields(0), {{"axis", text_of(axis)}});
}

ValueOr strided_slice(Call& c) {
  const auto p = c.attrs<ops::StridedSliceAttrs>();
  if (!p.begin || !p.end) return refuse("places that are not known");
  const Ints sizes = c.shape(0);
  Ints axes(p.begin->size()), begin(sizes.size(), 0), steps(sizes.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (p.axes) axes = *p.axes;
  for (std::size_t i = 0; i < p.begin->size(); ++i) {
    const auto axis = static_cast<std::size_t>(from_front(axes[i], sizes.size()));
    const std::int64_t first = (*p.begin)[i];
    begin[axis] = std::clamp<std::int64_t>(first < 0 ? first + sizes[axis] : first, 0, sizes[axis]);
    if (p.slice_mode != "size" && p.strides && i < p.strides->size()) steps[axis] = (*p.strides)[i];
    if (steps[axis] < 1) return refuse("a slice that goes backwards");
  }
  return c.layer("slice", {c.operand(0)},
                 {{"begin", texts_of(begin)}, {"strides", texts_of(steps)}});
}

}  // namespace tessera::backends::tensorrt
