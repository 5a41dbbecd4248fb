// SPDX-License-Identifier: Apache-2.0
#include "tests/text_fuzz/names.h"

#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace tessera::text_fuzz {
namespace {

using namespace std::string_view_literals;

// What ends, continues, opens or closes something in one of the languages that are written.
constexpr std::string_view kPieces[] = {
    "\r"sv,
    "\n"sv,
    "\r\n"sv,
    "\v"sv,
    "\f"sv,
    "\t"sv,
    "\0"sv,
    "\x1b[31m"sv,
    "\x1b]0;t\x07"sv,
    "\x7f"sv,
    "\x85"sv,
    "\xc2\x85"sv,
    "\xe2\x80\xa8"sv,
    "\xe2\x80\xa9"sv,
    "\xe2\x80\xae"sv,
    "\xe2\x81\xa6"sv,
    "\xef\xbb\xbf"sv,
    "\xff"sv,
    "\xc3"sv,
    "\xed\xa0\x80"sv,
    "\\"sv,
    "\\ "sv,
    "\\\n"sv,
    "\\x"sv,
    "\\u000a"sv,
    "\\\""sv,
    "\""sv,
    "'"sv,
    "`"sv,
    "?"sv,
    "?\?/"sv,
    "?\?/\n"sv,
    "?\?'"sv,
    "*/"sv,
    "/*"sv,
    "//"sv,
    "/"sv,
    "#"sv,
    "\n#include \"/etc/hostname\"\n"sv,
    "\r__attribute__((constructor)) static void p(){__builtin_trap();}\r//"sv,
    "a(){return 0;} int b"sv,
    ";"sv,
    "{"sv,
    "}"sv,
    "{}"sv,
    "{0}"sv,
    "%s"sv,
    "%n"sv,
    "%"sv,
    "R\"("sv,
    ")\""sv,
    "_Pragma(\"x\")"sv,
    "$(id)"sv,
    "<"sv,
    ">"sv,
    "&"sv,
    "&lt;"sv,
    "</title><script>"sv,
    "-->"sv,
    "]]>"sv,
    "../../x"sv,
    "/etc/passwd"sv,
    "-o.so"sv,
    "@file"sv,
    "@main"sv,
    "main"sv,
    "printf"sv,
    "_start"sv,
    "memcpy"sv,
    "tessera_model_program"sv,
    "tessera_entry"sv,
    "tessera"sv,
    "INT64_MIN"sv,
    "__LINE__"sv,
    "NULL"sv,
    "errno"sv,
    "stdout"sv,
    "M_PI"sv,
    "new"sv,
    "return"sv,
    "std"sv,
    "tk"sv,
    "frame"sv,
    "status"sv,
    "buffers"sv,
    "call"sv,
    "dims"sv,
    "self"sv,
    "loop"sv,
    "run"sv,
    "threadIdx"sv,
    "i"sv,
    "t0"sv,
    "s0"sv,
    "x"sv,
    "x_1"sv,
    "_"sv,
    "__"sv,
    "1"sv,
    "."sv,
    ","sv,
    ":"sv,
    "="sv,
    " "sv,
    "[0]"sv,
    "meta[relay.Constant][0]"sv,
    "\xe5\xa4\xa7"sv,
    "\xf0\x9f\x99\x82"sv,
    "k00_add__f32_2x8__native"sv,
};

}  // namespace

Names plain_names() {
  Names out;
  for (int i = 0; i < kFields; ++i) out.push_back(fmt::format("zq{:02}qz", i));
  return out;
}

std::string HostileNames::text() {
  std::string out;
  for (std::size_t parts = 1 + pick(4); parts > 0; --parts) {
    if (pick(8) == 0) {
      out += static_cast<char>(pick(256));
    } else {
      out += kPieces[pick(std::size(kPieces))];
    }
  }
  return pick(40) == 0 ? out + std::string(2000, 'l') : out;
}

Names HostileNames::names() {
  std::set<std::string> all;
  while (all.size() < static_cast<std::size_t>(kFields)) all.insert(text());
  return {all.begin(), all.end()};  // sorted
}

}  // namespace tessera::text_fuzz
