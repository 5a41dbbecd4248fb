// SPDX-License-Identifier: Apache-2.0
#include "emit/c_text.h"

#include <cctype>

#include <fmt/format.h>

namespace tessera::emit {
namespace {

constexpr std::size_t kLiteralLine = 88;  // characters of text in one line of a long literal

void append_escaped(std::string& out, unsigned char c) {
  if (c == '"' || c == '\\') {
    out += '\\';
    out += static_cast<char>(c);
  } else if (c == '?' || c < 0x20 || c >= 0x7f) {  // `?` could begin a trigraph
    out += fmt::format("\\{:03o}", c);
  } else {
    out += static_cast<char>(c);
  }
}

std::string_view code_name(TypeCode code) {
  switch (code) {
    case TypeCode::kInt:
      return "TESSERA_INT";
    case TypeCode::kUInt:
      return "TESSERA_UINT";
    case TypeCode::kFloat:
      return "TESSERA_FLOAT";
    case TypeCode::kHandle:
      return "TESSERA_OPAQUE_HANDLE";
    case TypeCode::kBFloat:
      return "TESSERA_BFLOAT";
    case TypeCode::kBool:
      return "TESSERA_BOOL";
  }
  return "";
}

constexpr std::string_view kReservedWords[] = {
    "alignas",  "and",       "auto",     "begin",   "bool",     "break",    "buffers",  "call",
    "case",     "char",      "class",    "closure", "const",    "delete",   "dims",     "do",
    "double",   "else",      "end",      "enum",    "extern",   "false",    "float",    "for",
    "if",       "int",       "int8_t",   "int16_t", "int32_t",  "int64_t",  "long",     "loop",
    "new",      "not",       "or",       "private", "public",   "register", "return",   "run",
    "self",     "short",     "signed",   "sizeof",  "static",   "status",   "struct",   "switch",
    "template", "this",      "tk",       "true",    "typename", "uint8_t",  "uint16_t", "uint32_t",
    "uint64_t", "union",     "unsigned", "using",   "void",     "volatile", "while",    "worker",
    "xor",      "namespace", "operator", "default", "goto",     "friend",   "inline",   "try",
    "catch",    "throw",     "export",   "mutable", "nullptr",  "explicit", "virtual",  "requires",
    "concept",  "asm",       "linux",    "unix",
};

}  // namespace

std::span<const std::string_view> reserved_words() { return kReservedWords; }

std::string c_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && i % kLiteralLine == 0) out += "\"\n    \"";
    append_escaped(out, static_cast<unsigned char>(text[i]));
  }
  return out + "\"";
}

std::string c_identifier(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool legal = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    out += legal ? c : '_';
  }
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out.insert(0, "v");
  return out;
}

std::string c_dtype(DType dtype) {
  return fmt::format("{{{}, {}, {}}}", code_name(dtype.code), dtype.bits, dtype.lanes);
}

}  // namespace tessera::emit
