// SPDX-License-Identifier: Apache-2.0
// Text that another program reads as its own language: C++ and CUDA that are compiled, HTML.
//
// What stands in a model (names, strings) is data, and must not become part of such a text as it
// is. So these texts have types of their own, and a std::string does not turn into them. They are
// made of literals of this program, of numbers, of each other, and of what the functions for the
// places of a language give (support/source.h, driver/html.h).
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera {

// Text that was written by who wrote this program.
class Literal {
 public:
  constexpr Literal() = default;
  consteval Literal(const char* text) : text_(text) {}  // NOLINT: "..." is one
  constexpr std::string_view text() const { return text_; }
  friend constexpr bool operator==(Literal, Literal) = default;

 private:
  std::string_view text_;
};

template <class Place>
class SafeText {
 public:
  SafeText() = default;
  SafeText(Literal text) : text_(text.text()) {}  // NOLINT: see Literal
  // For functions that make text safe, and for nobody else: scripts/check-source-text.py knows
  // them.
  static SafeText trusted(std::string text) {
    SafeText out;
    out.text_ = std::move(text);
    return out;
  }

  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }
  bool empty() const { return text_.empty(); }
  std::size_t size() const { return text_.size(); }

  SafeText& operator+=(const SafeText& other) {
    text_ += other.text_;
    return *this;
  }
  SafeText& operator+=(Literal literal) {
    text_ += literal.text();
    return *this;
  }
  SafeText& append(std::size_t count, Literal literal) {
    while (count-- > 0) *this += literal;
    return *this;
  }
  friend SafeText operator+(SafeText a, const SafeText& b) { return std::move(a += b); }
  friend SafeText operator+(SafeText a, Literal b) { return std::move(a += b); }
  friend SafeText operator+(Literal a, const SafeText& b) { return std::move(SafeText(a) += b); }
  friend bool operator==(const SafeText&, const SafeText&) = default;
  friend auto operator<=>(const SafeText&, const SafeText&) = default;

 private:
  std::string text_;
};

// What may stand in a text of `Place` as it is. A char is text, and no number.
template <class T, class Place>
inline constexpr bool kIsSafeIn = (std::is_arithmetic_v<T> && !std::is_same_v<T, char>) ||
                                  std::is_same_v<T, Literal> || std::is_same_v<T, SafeText<Place>>;
template <class I, class S, class Place>
inline constexpr bool kIsSafeIn<fmt::join_view<I, S, char>, Place> =
    kIsSafeIn<std::remove_cvref_t<std::iter_value_t<I>>, Place>;

// The text of a format, which is a literal, with safe things in its places.
template <class Place, class... A>
requires(kIsSafeIn<std::remove_cvref_t<A>, Place>&&...) SafeText<Place> safe_format(
    fmt::format_string<A...> format, A&&... args) {
  return SafeText<Place>::trusted(fmt::format(format, std::forward<A>(args)...));
}

}  // namespace tessera

template <>
struct fmt::formatter<tessera::Literal> : fmt::formatter<std::string_view> {
  auto format(tessera::Literal literal, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(literal.text(), context);
  }
};
template <class Place>
struct fmt::formatter<tessera::SafeText<Place>> : fmt::formatter<std::string_view> {
  auto format(const tessera::SafeText<Place>& text, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(text.text(), context);
  }
};
