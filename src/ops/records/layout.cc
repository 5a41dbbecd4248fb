// SPDX-License-Identifier: Apache-2.0
#include "ops/records/layout.h"

#include "ops/records/size_rules.h"
#include "support/check.h"

namespace tessera::ops {
namespace {

constexpr std::size_t kMostSpatial = 3;

// Products and sums of a few of these fit 64 bits.
constexpr std::int64_t kLargestStep = INT32_MAX;

}  // namespace

std::optional<Places> read_layout(std::string_view layout, std::string_view leading,
                                  std::size_t spatial) {
  if (spatial < 1 || spatial > kMostSpatial || layout.size() != spatial + 2) return std::nullopt;
  const std::string_view letters = std::string_view("DHW").substr(3 - spatial);
  Places p;
  p.first = layout.find(leading[0]);
  p.second = layout.find(leading[1]);
  for (char c : letters) p.spatial.push_back(layout.find(c));
  if (p.first == layout.npos || p.second == layout.npos) return std::nullopt;
  for (std::size_t s : p.spatial) {
    if (s == layout.npos) return std::nullopt;
  }
  return p;
}

Result<Places> layout_places(const InferArgs& args, std::string_view layout,
                             std::string_view leading, std::size_t spatial) {
  if (auto places = read_layout(layout, leading, spatial)) return *places;
  return refuse(args, Code::kWrongAttribute, "has layout \"{}\"; it must be an order of {}{}",
                layout, leading,
                std::string_view("DHW").substr(3 - std::min(spatial, kMostSpatial)));
}

Places known_places(std::string_view layout, std::string_view leading, std::size_t spatial) {
  auto places = read_layout(layout, leading, spatial);
  TESSERA_CHECK(places.has_value(), "layout {}", layout);
  return *places;
}

Result<void> expect_window_lists(const InferArgs& args, std::size_t n, const Ints& strides,
                                 const Ints& dilation, const Ints& padding) {
  if (strides.size() == n && dilation.size() == n &&
      (padding.size() == 1 || padding.size() == n || padding.size() == 2 * n)) {
    return {};
  }
  return refuse(args, Code::kWrongAttribute,
                "needs strides and dilation of {} numbers and padding of 1, {} or {}", n, n, 2 * n);
}

Result<Window> make_window(const InferArgs& args, const Ints& sizes, const Ints& strides,
                           const Ints& dilation, const Ints& padding) {
  TESSERA_TRY_VOID(expect_window_lists(args, sizes.size(), strides, dilation, padding));
  Window window = known_window(sizes, strides, dilation, padding);
  for (const WindowAxis& w : window) {
    if (w.size < 1 || w.stride < 1 || w.dilation < 1) {
      return refuse(args, Code::kWrongAttribute,
                    "has window size {}, stride {}, dilation {}; all must "
                    "be positive",
                    w.size, w.stride, w.dilation);
    }
    for (const std::int64_t n : {w.size, w.stride, w.dilation, w.pad_begin, w.pad_end}) {
      if (n >= -kLargestStep && n <= kLargestStep) continue;
      return refuse(args, Code::kWrongAttribute, "has {} in its window, beyond 32 bits", n);
    }
  }
  return window;
}

Window known_window(const Ints& sizes, const Ints& strides, const Ints& dilation,
                    const Ints& padding) {
  const std::size_t n = sizes.size();
  Window window;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t begin = padding.size() == 1 ? padding[0] : padding[i];
    const std::int64_t end = padding.size() == 2 * n ? padding[n + i] : begin;
    window.push_back({sizes[i], strides[i], dilation[i], begin, end});
  }
  return window;
}

Result<Dim> window_places(const InferArgs& args, const WindowAxis& w, const Dim& size, bool ceil) {
  const Dim room = size + Dim(w.pad_begin + w.pad_end - w.reach());
  if (room.is_constant() && room.constant() < 0) {
    return refuse(args, Code::kShapeMismatch,
                  "window reaches over {} elements, the padded operand has {}", w.reach(),
                  to_string(size + Dim(w.pad_begin + w.pad_end)));
  }
  TESSERA_TRY_VOID(at_least(args, size + Dim(w.pad_begin + w.pad_end), Dim(w.reach()),
                            "elements under a window, borders included, and its reach"));
  if (!ceil) return floor_div(room, Dim(w.stride)) + Dim(1);
  const Dim places = ceil_div(room, Dim(w.stride)) + Dim(1);
  // A window that would begin after the operand's end, in its border, is none.
  if (w.pad_end + w.stride <= w.reach()) return places;
  return min(places, ceil_div(size + Dim(w.pad_begin), Dim(w.stride)));
}

}  // namespace tessera::ops
