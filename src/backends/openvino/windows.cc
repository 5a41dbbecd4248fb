// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/windows.h"

#include <algorithm>

#include "backends/openvino/converters.h"

namespace tessera::backends::openvino {
namespace {

constexpr std::string_view kDataLayouts[] = {"NCW", "NCHW", "NCDHW"};
constexpr std::string_view kKernelLayouts[] = {"OIW", "OIHW", "OIDHW"};

// Padding at the end as far as the windows of the result see: with `ceil_mode` that may be more
// than the attribute says.
Expected<Padding, Refusal> padding_seen(const Call& c, const ops::PoolAttrs& p) {
  Padding padding = padding_of(p.padding, p.pool_size.size());
  if (!p.ceil_mode) return padding;
  for (std::size_t i = 0; i < p.pool_size.size(); ++i) {
    const Dim& data = c.shape(0)[i + 2];
    const Dim& result = c.result().shape()[i + 2];
    if (!data.is_constant() || !result.is_constant()) {
      return refuse("`ceil_mode` of a size that is not known");
    }
    const std::int64_t reach = (result.constant() - 1) * p.strides[i] + p.pool_size[i];
    const std::int64_t needed = reach - data.constant() - padding.begin[i];
    if (needed > padding.end[i] && p.count_include_pad) {
      return refuse("padding counts, and `ceil_mode` adds what does not");
    }
    padding.end[i] = std::max(padding.end[i], needed);
  }
  return padding;
}

ValuesOr pool(Call& c, const ops::PoolAttrs& p, std::string_view operation, bool is_average) {
  if (auto why = layout_refusal(p.layout, p.out_layout, p.pool_size.size())) {
    return Unexpected{*why};
  }
  if (std::any_of(p.dilation.begin(), p.dilation.end(), [](auto d) { return d != 1; })) {
    return refuse("the window is dilated");
  }
  TESSERA_TRY(const Padding padding, padding_seen(c, p));
  for (std::size_t i = 0; i < p.pool_size.size(); ++i) {
    const Shape& shape = c.shape(0);
    const Dim& size = shape[shape.size() - p.pool_size.size() + i];
    const std::int64_t padded = std::max(padding.begin[i], padding.end[i]);
    // Of an open size nothing may be left but padding.
    if (padded >= p.pool_size[i] || (padded > 0 && size.as_constant().value_or(0) == 0)) {
      return refuse("a window may see padding alone");
    }
  }
  std::vector<Attribute> attributes = {
      {"strides", text_of(p.strides)},    {"pads_begin", text_of(padding.begin)},
      {"pads_end", text_of(padding.end)}, {"kernel", text_of(p.pool_size)},
      {"rounding_type", "floor"},         {"auto_pad", "explicit"}};
  if (is_average) attributes.push_back({"exclude-pad", text_of(!p.count_include_pad)});
  return Values{c.layer(operation, 1, {c.operand(0)}, attributes)};
}

ValuesOr global_pool(Call& c, std::string_view operation) {
  const auto p = c.attrs<ops::GlobalPool2DAttrs>();
  if (auto why = layout_refusal(p.layout, p.out_layout, 2)) return Unexpected{*why};
  return Values{c.layer(operation, 1, {c.operand(0), c.ints({2, 3})}, {{"keep_dims", "true"}})};
}

}  // namespace

Padding padding_of(const Ints& given, std::size_t spatial) {
  if (given.size() == 1) return {Ints(spatial, given[0]), Ints(spatial, given[0])};
  if (given.size() == spatial) return {given, given};
  const auto middle = given.begin() + static_cast<std::ptrdiff_t>(spatial);
  return {Ints(given.begin(), middle), Ints(middle, given.end())};
}

std::string_view kernel_layout(std::size_t spatial) { return kKernelLayouts[spatial - 1]; }

std::optional<Refusal> layout_refusal(std::string_view layout, std::string_view out_layout,
                                      std::size_t spatial) {
  const std::string_view wanted = kDataLayouts[spatial - 1];
  if (layout == wanted && (out_layout.empty() || out_layout == wanted)) return std::nullopt;
  return Refusal{fmt::format("the layout {}{}{} is not {}", layout,
                             out_layout.empty() ? "" : " to ", out_layout, wanted)};
}

ValuesOr max_pool_of(Call& c, const ops::PoolAttrs& p) { return pool(c, p, "MaxPool", false); }
ValuesOr average_pool_of(Call& c, const ops::PoolAttrs& p) { return pool(c, p, "AvgPool", true); }
ValuesOr global_average_pool(Call& c) { return global_pool(c, "ReduceMean"); }
ValuesOr global_max_pool(Call& c) { return global_pool(c, "ReduceMax"); }

}  // namespace tessera::backends::openvino
