// SPDX-License-Identifier: Apache-2.0
#include "emit/banner.h"

#include <fmt/format.h>

#include "diagnostics/places.h"

namespace tessera::emit {
namespace {

using tir::Buffer;
using tir::Expr;

constexpr std::size_t kMaxBannerSources = 8;

// Text of several lines, each behind `//`. A backslash at the end of a line would continue the
// comment.
std::string comment_text(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += out.ends_with('\\') ? ".\n//     " : "\n//     ";
    } else {
      out += c;
    }
  }
  return out.ends_with('\\') ? out + "." : out;
}

}  // namespace

std::string shape_text(const Buffer& b, KernelScope& scope) {
  std::string out;
  for (const Expr& e : b->shape) out += (out.empty() ? "" : ", ") + expr_text(e, scope);
  return "(" + out + ")";
}

std::string kernel_banner(const tir::PrimFunc& f, std::string_view symbol, KernelScope& scope) {
  std::string out = fmt::format("// {}\n", symbol);
  const auto parameters = [&](std::string_view word, const std::vector<Buffer>& buffers) {
    std::string text;
    for (const Buffer& b : buffers) {
      const std::string one =
          fmt::format("{}: {}{}", scope.name(b), to_string(b->dtype), shape_text(b, scope));
      const std::size_t column = text.size() - (text.rfind('\n') + 1);
      if (text.empty()) {
        text = fmt::format("//   {} {}", word, one);
      } else {
        text += (column + one.size() > 92 ? ",\n//     " : ", ") + one;
      }
    }
    if (!text.empty()) out += fmt::format("{}\n", text);
  };
  parameters("in ", f.inputs);
  parameters("out", f.outputs);
  for (const auto& [key, value] : f.attrs) {
    out += fmt::format("//   {}: {}\n", key, comment_text(value));
  }
  std::size_t shown = 0;
  for (const Location& source : f.sources) {
    const std::string place = place_in_file(source);
    if (!place.empty() && shown++ < kMaxBannerSources)
      out += fmt::format("//   from {}\n", comment_text(place));
  }
  if (shown > kMaxBannerSources)
    out += fmt::format("//   and {} more\n", shown - kMaxBannerSources);
  return out;
}

}  // namespace tessera::emit
