// SPDX-License-Identifier: Apache-2.0
#include "passes/view_calls.h"

#include <algorithm>
#include <string_view>

#include "ops/attrs/shape.h"
#include "relay/operator.h"

namespace tessera::passes {
namespace {

using relay::Function;
using relay::NodeId;

std::optional<FactoredView> sliced(const ops::StridedSliceAttrs& a, const Sizes& sizes,
                                   FactoredView view) {
  const bool has_steps = a.strides && std::any_of(a.strides->begin(), a.strides->end(),
                                                  [](std::int64_t step) { return step != 1; });
  if (!a.begin || has_steps || a.slice_mode != "end") return std::nullopt;
  const Sizes before = view.sizes();
  for (std::size_t i = 0; i < a.begin->size(); ++i) {
    std::int64_t axis = a.axes ? (*a.axes)[i] : static_cast<std::int64_t>(i);
    if (axis < 0) axis += static_cast<std::int64_t>(before.size());
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t begin = (*a.begin)[i] < 0 ? (*a.begin)[i] + before[at] : (*a.begin)[i];
    auto part = view.slice(at, std::clamp<std::int64_t>(begin, 0, before[at]), sizes[at]);
    if (!part) return std::nullopt;
    view = *std::move(part);
  }
  return view;
}

}  // namespace

std::vector<std::int64_t> permutation_of(const Function& f, NodeId transpose) {
  const auto rank = static_cast<std::int64_t>(f.type(transpose).rank());
  auto axes = relay::read_attrs<ops::TransposeAttrs>(f.as<relay::OpCall>(transpose)->attrs).axes;
  if (!axes) {
    axes.emplace();
    for (std::int64_t i = rank; i-- > 0;) axes->push_back(i);
  }
  for (std::int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  return *axes;
}

std::optional<FactoredView> view_after(const Function& f, NodeId call, const Sizes& sizes,
                                       FactoredView view) {
  const std::string_view op = f.op(call)->name;
  if (op == "transpose") return view.transpose(permutation_of(f, call));
  if (op != "strided_slice") return view.reshape(sizes);
  return sliced(relay::read_attrs<ops::StridedSliceAttrs>(f.as<relay::OpCall>(call)->attrs), sizes,
                std::move(view));
}

}  // namespace tessera::passes
