// SPDX-License-Identifier: Apache-2.0
// What a user is told: place, finding, rule, remedy. See docs/terminology.md for the tone.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "diagnostics/location.h"
#include "support/expected.h"

namespace tessera {

// Every code has a line in codes.def with the explanation that `tessera explain` prints.
enum class Code {
#define CODE(name, text, explanation) name,
#include "diagnostics/codes.def"
#undef CODE
};

enum class Severity { kError, kWarning, kNote };

// Lower case, no final period, code in `backticks`; situation first, then rule; the remedy apart.
struct Diagnostic {
  Severity severity = Severity::kError;
  Code code{};
  Location location;
  std::string message;  // what was found, and the rule that it breaks
  std::string remedy;   // what to do; may be empty
  std::vector<Diagnostic> notes;

  Diagnostic&& note(Location at, std::string text) &&;
  Diagnostic&& with_remedy(std::string text) &&;
};

// All errors of a stage travel together; never empty in a failed Result.
struct Diagnostics {
  std::vector<Diagnostic> list;

  Diagnostics() = default;
  Diagnostics(Diagnostic d) { list.push_back(std::move(d)); }  // NOLINT: one is a list of one
  bool empty() const { return list.empty(); }
  void add(Diagnostic d) { list.push_back(std::move(d)); }
  void add(Diagnostics other);
};

template <class T>
using Result = Expected<T, Diagnostics>;

template <class... A>
Diagnostic error(Code code, Location at, fmt::format_string<A...> text, A&&... args) {
  return {
      Severity::kError, code, std::move(at), fmt::format(text, std::forward<A>(args)...), {}, {}};
}
template <class... A>
Diagnostic warning(Code code, Location at, fmt::format_string<A...> text, A&&... args) {
  return {
      Severity::kWarning, code, std::move(at), fmt::format(text, std::forward<A>(args)...), {}, {}};
}
// `return fail(error(Code::kX, loc, "..."));`
inline Unexpected<Diagnostics> fail(Diagnostic d) { return {Diagnostics(std::move(d))}; }
inline Unexpected<Diagnostics> fail(Diagnostics d) { return {std::move(d)}; }

std::string_view code_text(Code code);         // "E0203"
std::string_view code_explanation(Code code);  // two sentences
// Finds a code by its text; false when there is none.
bool find_code(std::string_view text, Code& out);

struct RenderOptions {
  bool colour = false;
};
// `FILE:LINE:COLUMN: error[E0203]: message`, the excerpt with carets, notes and remedy, sorted by
// place.
std::string render(const Diagnostics& diagnostics, const RenderOptions& options = {});

}  // namespace tessera
