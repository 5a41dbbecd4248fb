// SPDX-License-Identifier: Apache-2.0
#include "byoc/view.h"

namespace tessera::byoc {

Shape row_major_strides(const Shape& dims) {
  Shape strides(dims.size());
  Dim stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * dims[i];
  }
  return strides;
}

View View::of(Shape dims) {
  Shape strides = row_major_strides(dims);
  return {std::move(dims), std::move(strides)};
}

View View::transpose(std::span<const std::int64_t> axes) const {
  View out;
  for (const std::int64_t axis : axes) {
    out.dims.push_back(dims[static_cast<std::size_t>(axis)]);
    out.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return out;
}

// Walks both shapes from the back: each new dimension must be cut out of one run of old dimensions
// whose strides nest.
std::optional<View> View::reshape(const Shape& to) const {
  if (num_elements(to) != num_elements(dims)) return std::nullopt;
  View out{to, Shape(to.size(), 1)};
  const Dim one = 1;
  std::size_t old = dims.size();
  Dim run = 1, stride = 1, used = 1;  // elements and stride of the run, what is cut off
  for (std::size_t i = to.size(); i-- > 0;) {
    if (to[i] == one) continue;
    if (used == run) {
      while (old > 0 && dims[old - 1] == one) --old;
      if (old == 0) return std::nullopt;
      run = dims[--old];
      stride = strides[old];
      used = 1;
    }
    while (floor_mod(floor_div(run, used), to[i]) != Dim(0)) {
      std::size_t next = old;
      while (next > 0 && dims[next - 1] == one) --next;
      if (next == 0 || strides[next - 1] != stride * run) return std::nullopt;
      run = run * dims[next - 1];
      old = next - 1;
    }
    out.strides[i] = stride * used;
    used = used * to[i];
  }
  return out;
}

std::optional<View> View::merge(std::size_t first, std::size_t count) const {
  const auto begin = dims.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  Shape to(dims.begin(), begin);
  to.push_back(num_elements({begin, end}));
  to.insert(to.end(), end, dims.end());
  return reshape(to);
}

View View::insert(std::size_t at) const {
  View out = *this;
  out.dims.insert(out.dims.begin() + static_cast<std::ptrdiff_t>(at), Dim(1));
  out.strides.insert(out.strides.begin() + static_cast<std::ptrdiff_t>(at), Dim(1));
  return out;
}

View View::erase(std::size_t at) const {
  View out = *this;
  out.dims.erase(out.dims.begin() + static_cast<std::ptrdiff_t>(at));
  out.strides.erase(out.strides.begin() + static_cast<std::ptrdiff_t>(at));
  return out;
}

View View::with_regular_strides() const {
  View out = *this;
  const Dim one = 1;
  const Dim span = num_elements(dims);  // views have all elements of their values
  // From the back: a unit dimension is as wide as what lies after it, unless it is a leading one.
  bool leading = true;
  std::vector<bool> leads(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    leading = leading && dims[i] == one;
    leads[i] = leading;
  }
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != one) continue;
    if (leads[i]) {
      out.strides[i] = span;
    } else {
      out.strides[i] = i + 1 < dims.size() ? out.strides[i + 1] * dims[i + 1] : one;
    }
  }
  return out;
}

}  // namespace tessera::byoc
