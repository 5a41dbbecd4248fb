// SPDX-License-Identifier: Apache-2.0
// Emitted C++ and CUDA, and the places in it where text of a model, an option or a file's name
// stands. Whatever bytes that text has, what compilers see of it is one comment, one literal or one
// identifier.
#pragma once

#include <string>
#include <string_view>

#include "support/safe_text.h"

namespace tessera {

// The only text that a CompileJob takes.
using Source = SafeText<struct SourcePlace>;

// `source("return {};", n)`: fmt::format of literals, numbers and sources.
template <class... A>
Source source(fmt::format_string<A...> format,
              A&&... args) requires(kIsSafeIn<std::remove_cvref_t<A>, SourcePlace>&&...) {
  return safe_format<SourcePlace>(format, std::forward<A>(args)...);
}

// The same with a format out of a table.
template <class... A>
Source source_in(Literal format, const A&... args) requires(kIsSafeIn<A, SourcePlace>&&...) {
  return Source::trusted(fmt::format(fmt::runtime(format.text()), args...));
}

// A string literal of any bytes; long text is broken into several lines.
Source c_string(std::string_view text);
// For use after `//`, or between `/*` and `*/`, or in a `#` line's comment: one line of plain ASCII
// and UTF-8. What ends lines or comments, continues lines, or moves or hides text is written as
// `\x1b` and `\u2028`.
Source c_comment(std::string_view text);
// The same of text of several lines: each after the first begins with `begin`.
Source c_comment_lines(std::string_view text, Literal begin);
// A name that is legal already: [A-Za-z_][A-Za-z0-9_]*, and no word of C++. Others are our bug.
Source c_name(std::string_view name);

// Is it [A-Za-z_][A-Za-z0-9_]*?
bool is_c_name(std::string_view name);
// Keywords and other words of C++ that nothing can be called.
bool is_c_word(std::string_view name);
// A legal name that resembles the text: other characters are `_`, what C++ or its libraries may
// have taken gets `v_` in front, and long ones are cut. Different texts may give one name: who
// needs several puts numbers after them (tir/names.h).
std::string c_identifier(std::string_view text);

}  // namespace tessera
