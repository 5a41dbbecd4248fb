// SPDX-License-Identifier: Apache-2.0
#include "emit/banner.h"

#include "diagnostics/places.h"

namespace tessera::emit {
namespace {

using tir::Buffer;
using tir::Expr;

constexpr std::size_t kMaxBannerSources = 8;
constexpr Literal kNextLine = "//     ";

}  // namespace

Source shape_text(const Buffer& b, KernelScope& scope) {
  Source out;
  for (const Expr& e : b->shape) out += (out.empty() ? Literal("") : ", ") + expr_text(e, scope);
  return "(" + out + ")";
}

Source kernel_banner(const tir::PrimFunc& f, std::string_view symbol, KernelScope& scope) {
  Source out = source("// {}\n", c_comment(symbol));
  const auto parameters = [&](Literal word, const std::vector<Buffer>& buffers) {
    Source text;
    for (const Buffer& b : buffers) {
      const Source one =
          source("{}: {}{}", scope.name(b), c_comment(to_string(b->dtype)), shape_text(b, scope));
      const std::size_t column = text.size() - (text.text().rfind('\n') + 1);
      if (text.empty()) {
        text = source("//   {} {}", word, one);
      } else {
        text += (column + one.size() > 92 ? Literal(",\n//     ") : ", ") + one;
      }
    }
    if (!text.empty()) out += source("{}\n", text);
  };
  parameters("in ", f.inputs);
  parameters("out", f.outputs);
  for (const auto& [key, value] : f.attrs) {
    out += source("//   {}: {}\n", c_comment(key), c_comment_lines(value, kNextLine));
  }
  std::size_t shown = 0;
  for (const Location& at : f.sources) {
    const std::string place = place_in_file(at);
    if (!place.empty() && shown++ < kMaxBannerSources)
      out += source("//   from {}\n", c_comment(place));
  }
  if (shown > kMaxBannerSources) out += source("//   and {} more\n", shown - kMaxBannerSources);
  return out;
}

}  // namespace tessera::emit
