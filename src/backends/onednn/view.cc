// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/view.h"

#include <algorithm>

namespace tessera::backends::onednn {

Ints row_major_strides(std::span<const std::int64_t> dims) {
  Ints strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

std::int64_t count_of(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  for (const std::int64_t d : dims) count *= d;
  return count;
}

View View::of(Ints dims) {
  Ints strides = row_major_strides(dims);
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
std::optional<View> View::reshape(const Ints& to) const {
  if (count_of(to) != count_of(dims)) return std::nullopt;
  View out{to, Ints(to.size(), 1)};
  std::size_t old = dims.size();
  std::int64_t run = 1, stride = 1, used = 1;  // elements and stride of the run, what is cut off
  for (std::size_t i = to.size(); i-- > 0;) {
    if (to[i] == 1) continue;
    std::int64_t wanted = to[i];
    if (used == run) {
      while (old > 0 && dims[old - 1] == 1) --old;
      if (old == 0) return std::nullopt;
      run = dims[--old];
      stride = strides[old];
      used = 1;
    }
    while (run / used < wanted || (run / used) % wanted != 0) {
      std::size_t next = old;
      while (next > 0 && dims[next - 1] == 1) --next;
      if (next == 0 || strides[next - 1] != stride * run) return std::nullopt;
      run *= dims[next - 1];
      old = next - 1;
    }
    out.strides[i] = stride * used;
    used *= wanted;
  }
  return out;
}

std::optional<View> View::merge(std::size_t first, std::size_t count) const {
  Ints to(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(first));
  to.push_back(count_of(std::span(dims).subspan(first, count)));
  to.insert(to.end(), dims.begin() + static_cast<std::ptrdiff_t>(first + count), dims.end());
  return reshape(to);
}

View View::insert(std::size_t at) const {
  View out = *this;
  out.dims.insert(out.dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
  out.strides.insert(out.strides.begin() + static_cast<std::ptrdiff_t>(at), 1);
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
  std::int64_t span = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) span = std::max(span, dims[i] * strides[i]);
  }
  // From the back: a unit dimension is as wide as what lies behind it, unless it is a leading one.
  bool leading = true;
  std::vector<bool> leads(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    leading = leading && dims[i] == 1;
    leads[i] = leading;
  }
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1) continue;
    if (leads[i]) {
      out.strides[i] = span;
    } else {
      out.strides[i] = i + 1 < dims.size() ? out.strides[i + 1] * dims[i + 1] : 1;
    }
  }
  return out;
}

}  // namespace tessera::backends::onednn
