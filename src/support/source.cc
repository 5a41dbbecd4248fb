// SPDX-License-Identifier: Apache-2.0
#include "support/source.h"

#include <algorithm>
#include <iterator>

#include "support/check.h"
#include "support/visible_text.h"

namespace tessera {
namespace {

constexpr std::size_t kLiteralLine = 88;     // characters of text in one line of a long literal
constexpr std::size_t kIdentifierSize = 64;  // of a name that was made of text

// Sorted: keywords, and what headers that emitted sources include define as macros, in spite of
// lower case.
constexpr std::string_view kWords[] = {
    "alignas",
    "alignof",
    "alloca",
    "and",
    "and_eq",
    "asm",
    "assert",
    "assert_perror",
    "auto",
    "be16toh",
    "be32toh",
    "be64toh",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "htobe16",
    "htobe32",
    "htobe64",
    "htole16",
    "htole32",
    "htole64",
    "i386",
    "if",
    "inline",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "isalnum_l",
    "isalpha_l",
    "isascii",
    "isascii_l",
    "isblank_l",
    "iscntrl_l",
    "isdigit_l",
    "isgraph_l",
    "islower_l",
    "isprint_l",
    "ispunct_l",
    "isspace_l",
    "issubnormal",
    "isupper_l",
    "isxdigit_l",
    "le16toh",
    "le32toh",
    "le64toh",
    "linux",
    "long",
    "main",
    "major",
    "makedev",
    "math_errhandling",
    "minor",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "offsetof",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "std",
    "stderr",
    "stdin",
    "stdout",
    "strdupa",
    "strndupa",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "tk",
    "toascii",
    "toascii_l",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
};
// What names of the runtime, of this text's own things, and of CUDA begin with.
constexpr std::string_view kPrefixes[] = {"tessera", "cuda", "_"};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || is_upper(c) || is_digit(c) || c == '_';
}

// `M_PIf`, `INT64_MIN`: as macros are written.
bool looks_like_macro(std::string_view name) {
  return name.size() > 1 && is_upper(name[0]) &&
         (!is_name_character(name[1]) || is_upper(name[1]) || is_digit(name[1]) || name[1] == '_');
}

void append_escaped(std::string& out, unsigned char c) {
  if (c == '"' || c == '\\') {
    out += '\\';
    out += static_cast<char>(c);
  } else if (c == '?' || c < 0x20 || c >= 0x7f) {  // `?` could begin a trigraph
    fmt::format_to(std::back_inserter(out), "\\{:03o}", c);
  } else {
    out += static_cast<char>(c);
  }
}

}  // namespace

Source c_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && i % kLiteralLine == 0) out += "\"\n    \"";
    append_escaped(out, static_cast<unsigned char>(text[i]));
  }
  return Source::trusted(out + "\"");
}

Source c_comment(std::string_view text) {
  std::string out;
  std::string plain = visible(text);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char before = i > 0 ? plain[i - 1] : '\0';
    const bool ends = plain[i] == '/' && before == '*';
    const bool begins = plain[i] == '*' && before == '/';  // compilers warn of it
    const bool trigraph = plain[i] == '?' && before == '?';
    const bool continues = plain[i] == '\\' && plain.find_first_not_of(' ', i + 1) == plain.npos;
    if (ends || begins || trigraph || continues) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(plain[i]));
      if (trigraph) plain[i] = ' ';  // the next one begins anew
    } else {
      out += plain[i];
    }
  }
  return Source::trusted(std::move(out));
}

Source c_comment_lines(std::string_view text, Literal begin) {
  Source out;
  for (bool first = true;; first = false) {
    const std::size_t end = text.find('\n');
    if (!first) out += Source("\n") + begin;
    out += c_comment(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

Source c_name(std::string_view name) {
  TESSERA_CHECK(is_c_name(name) && !is_c_word(name), "`{}` is no C name", visible(name));
  return Source::trusted(std::string(name));
}

bool is_c_name(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

bool is_c_word(std::string_view name) {
  return std::binary_search(std::begin(kWords), std::end(kWords), name);
}

std::string c_identifier(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kIdentifierSize)) name += is_name_character(c) ? c : '_';
  const bool taken = name.empty() || is_digit(name[0]) || is_c_word(name) ||
                     looks_like_macro(name) ||
                     std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                                 [&](std::string_view prefix) { return name.starts_with(prefix); });
  return taken ? "v_" + name : name;
}

}  // namespace tessera
