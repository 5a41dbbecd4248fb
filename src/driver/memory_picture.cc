// SPDX-License-Identifier: Apache-2.0
#include "driver/memory_picture.h"

#include <fmt/format.h>

#include "driver/html.h"
#include "driver/placement_table.h"

namespace tessera::driver {
namespace {

constexpr double kWidth = 960, kHeight = 320, kMargin = 70;
constexpr double kLetterWidth = 6.5, kLetterHeight = 12;  // of the names inside of rectangles
constexpr int kHueStep = 47;                              // neighbours differ

struct Scale {
  double x, y;  // a statement's width, a byte's height
};

Html rectangle(const plan::Need& need, const plan::Placement& at, plan::TickRange live,
               std::size_t index, const Scale& scale) {
  const double x = kMargin + static_cast<double>(live.first) * scale.x;
  const double width = static_cast<double>(live.last - live.first + 1) * scale.x;
  const double height = static_cast<double>(need.bytes) * scale.y;
  const double y = kHeight - static_cast<double>(at.offset) * scale.y - height;
  Html out = html(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"hsl({}, 55%, "
      "72%)\" stroke=\"#444\" stroke-width=\"0.3\"><title>{}: {} bytes at {}, statements {} to "
      "{}</title></rect>\n",
      x, y, width, height, index * kHueStep % 360, html_text(need.name), need.bytes, at.offset,
      live.first, live.last);
  const bool has_room =
      width > kLetterWidth * static_cast<double>(need.name.size()) + 4 && height > kLetterHeight;
  if (has_room) {
    out += html("<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", x + 2,
                y + height / 2 + kLetterHeight / 3, html_text(need.name));
  }
  return out;
}

}  // namespace

Html memory_picture(const plan::MemoryPlan& plan, std::size_t index) {
  const plan::Pool& pool = plan.pools[index];
  std::int64_t ticks = 0;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < plan.needs.size(); ++i) {
    if (plan.needs[i].bytes <= 0 || static_cast<std::size_t>(plan.placements[i].pool) != index)
      continue;
    shown.push_back(i);
    for (const plan::TickRange& r : plan.needs[i].live) ticks = std::max(ticks, r.last + 1);
  }
  if (shown.empty() || pool.bytes <= 0) return {};
  const Scale scale = {(kWidth - kMargin) / static_cast<double>(ticks),
                       kHeight / static_cast<double>(pool.bytes)};
  Html out = html(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<title>memory of pool {}</title>\n",
      kWidth, kHeight + 20, html_text(pool.name));
  out += html("<rect x=\"{}\" y=\"0\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
              kMargin, kWidth - kMargin, kHeight);
  for (const std::size_t i : shown) {
    for (const plan::TickRange& r : plan.needs[i].live) {
      out += rectangle(plan.needs[i], plan.placements[i], r, i, scale);
    }
  }
  std::vector<plan::Need> needs;
  for (const std::size_t i : shown) needs.push_back(plan.needs[i]);
  const std::int64_t tick = plan::peak_of(needs).tick;
  const double middle = kMargin + (static_cast<double>(tick) + 0.5) * scale.x;
  out += html(
      "<line x1=\"{0:.2f}\" y1=\"0\" x2=\"{0:.2f}\" y2=\"{1}\" stroke=\"#c00\" "
      "stroke-dasharray=\"4\"><title>the most of this pool lives in statement {2}</title></line>\n",
      middle, kHeight, tick);
  out += html("<text x=\"0\" y=\"11\">{}</text>\n<text x=\"0\" y=\"{}\">0 B</text>\n",
              html_text(size_text(static_cast<std::uint64_t>(pool.bytes))), kHeight);
  out += html("<text x=\"{}\" y=\"{}\">statement 0</text>\n", kMargin, kHeight + 15);
  out += html("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n</svg>\n", kWidth,
              kHeight + 15, ticks - 1);
  return out;
}

}  // namespace tessera::driver
