// SPDX-License-Identifier: Apache-2.0
// The text of diagnostics: `FILE:LINE:COLUMN: error[E0203]: message`, then the line with `^~~~`.
#include <algorithm>
#include <cctype>
#include <tuple>

#include <fmt/format.h>

#include "diagnostics/diagnostic.h"
#include "support/visible_text.h"

namespace tessera {
namespace {

constexpr std::size_t kExcerptBytes = 160;  // longer lines are cut around the place
constexpr std::size_t kMaxOrigins = 4;      // places of a fused location that are shown

constexpr std::string_view kBold = "\033[1m", kRed = "\033[1;31m", kYellow = "\033[1;33m",
                           kCyan = "\033[1;36m", kReset = "\033[0m";

// What a diagnostic says has names of models, files and libraries in it: none of them is a command
// of the terminal, or a line of its own.
std::string painted(std::string_view text, std::string_view colour, const RenderOptions& options) {
  const std::string shown = visible(text);
  return options.colour ? fmt::format("{}{}{}", colour, shown, kReset) : shown;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The part of a line that is shown, and where in it the marked bytes lie.
struct Excerpt {
  std::string text;
  std::size_t begin = 0, end = 0;
};

Excerpt cut_excerpt(std::string_view line, std::size_t begin, std::size_t end) {
  if (line.size() <= kExcerptBytes) return {std::string(line), begin, end};
  std::size_t first = begin > kExcerptBytes / 4 ? begin - kExcerptBytes / 4 : 0;
  std::size_t last = std::min(line.size(), first + kExcerptBytes);
  while (first > 0 && continues_character(line[first])) --first;
  while (last < line.size() && continues_character(line[last])) ++last;
  const std::string_view before = first > 0 ? "..." : "", after = last < line.size() ? "..." : "";
  const std::size_t moved = first - before.size();  // may wrap; the sums below wrap back
  return {fmt::format("{}{}{}", before, line.substr(first, last - first), after), begin - moved,
          std::min(end, last) - moved};
}

// Tabs stay, and the marks stay below what they mark.
Excerpt made_visible(const Excerpt& raw) {
  const std::string_view text = raw.text;
  Excerpt out;
  out.text = visible_lines(text.substr(0, raw.begin));
  out.begin = out.text.size();
  out.text += visible_lines(text.substr(raw.begin, raw.end - raw.begin));
  out.end = out.text.size();
  out.text += visible_lines(text.substr(raw.end));
  return out;
}

// `  line` and `     ^~~~`; one column a character, tabs kept so that the marks stay below.
std::string render_excerpt(const FileRange& range, const RenderOptions& options) {
  const auto at = range.file->position(range.begin);
  const std::string_view line = range.file->line(at.line);
  const std::size_t begin = std::min<std::size_t>(at.column - 1, line.size());
  const std::size_t length = range.end > range.begin ? range.end - range.begin : 0;
  const Excerpt shown =
      made_visible(cut_excerpt(line, begin, std::min(begin + length, line.size())));
  std::string marks;
  for (std::size_t i = 0; i < shown.begin; ++i) {
    if (!continues_character(shown.text[i])) marks += shown.text[i] == '\t' ? '\t' : ' ';
  }
  std::string underline = "^";
  for (std::size_t i = shown.begin + 1; i < shown.end; ++i) {
    if (!continues_character(shown.text[i])) underline += '~';
  }
  return fmt::format("  {}\n  {}{}\n", shown.text, marks, painted(underline, kCyan, options));
}

std::string label(const Diagnostic& d, const RenderOptions& options) {
  switch (d.severity) {
    case Severity::kError:
      return painted(fmt::format("error[{}]:", code_text(d.code)), kRed, options);
    case Severity::kWarning:
      return painted(fmt::format("warning[{}]:", code_text(d.code)), kYellow, options);
    case Severity::kNote:
      return painted("note:", kCyan, options);
  }
  return {};
}

// The place that stands in the first line; a fused location shows its first part there.
Location main_place(const Location& location) {
  if (!location) return nullptr;
  const auto* fused = std::get_if<Fused>(&location->place);
  return fused != nullptr ? fused->parts.front() : location;
}

std::string render_line(const Diagnostic& d, const Location& place, const RenderOptions& options) {
  const std::string message =
      d.severity == Severity::kNote ? visible(d.message) : painted(d.message, kBold, options);
  if (!place) return fmt::format("{} {}\n", label(d, options), message);
  if (const auto* range = std::get_if<FileRange>(&place->place)) {
    return fmt::format("{}: {} {}\n{}", painted(to_string(place), kBold, options),
                       label(d, options), message, render_excerpt(*range, options));
  }
  return fmt::format("{} {}: {}\n", label(d, options), visible(to_string(place)), message);
}

std::string render_origins(const Location& location, const RenderOptions& options) {
  const auto* fused = location ? std::get_if<Fused>(&location->place) : nullptr;
  if (fused == nullptr) return "";
  std::string out;
  for (std::size_t i = 1; i < fused->parts.size() && i < kMaxOrigins; ++i) {
    Diagnostic origin;
    origin.severity = Severity::kNote;
    origin.message = "fused with this";
    out += render_line(origin, fused->parts[i], options);
  }
  if (fused->parts.size() > kMaxOrigins) {
    out += fmt::format("{} fused with {} more\n", painted("note:", kCyan, options),
                       fused->parts.size() - kMaxOrigins);
  }
  return out;
}

// An error in a text or graph that says no remedy of its own has that of its code: what follows the
// first sentence of the explanation.
std::string remedy_of(const Diagnostic& d) {
  if (!d.remedy.empty() || d.severity != Severity::kError) return d.remedy;
  if (!code_text(d.code).starts_with("E02")) return "";
  const std::string_view explanation = code_explanation(d.code);
  const std::size_t end = explanation.find(". ");
  if (end == std::string_view::npos) return "";
  std::string text(explanation.substr(end + 2));
  text.pop_back();  // the period
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string render_one(const Diagnostic& d, const RenderOptions& options) {
  std::string out = render_line(d, main_place(d.location), options);
  out += render_origins(d.location, options);
  for (const auto& note : d.notes) out += render_one(note, options);
  if (const std::string remedy = remedy_of(d); !remedy.empty()) {
    out += fmt::format("{} {}\n", painted("help:", kCyan, options), visible(remedy));
  }
  return out;
}

// Unknown places first; nodes of a model keep the order in which they were reported.
std::tuple<std::string_view, std::uint32_t> sort_key(const Diagnostic& d) {
  const Location place = main_place(d.location);
  if (!place) return {"", 0};
  if (const auto* range = std::get_if<FileRange>(&place->place)) {
    return {range->file->name, range->begin};
  }
  return {std::get<ModelNode>(place->place).file, 0};
}

}  // namespace

std::string render(const Diagnostics& diagnostics, const RenderOptions& options) {
  std::vector<const Diagnostic*> sorted;
  for (const auto& d : diagnostics.list) sorted.push_back(&d);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return sort_key(*a) < sort_key(*b);
  });
  std::string out;
  for (const Diagnostic* d : sorted) out += render_one(*d, options);
  return out;
}

}  // namespace tessera
