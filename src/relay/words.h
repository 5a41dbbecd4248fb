// SPDX-License-Identifier: Apache-2.0
// The words of the text that printer and parser share.
#pragma once

#include <string_view>

namespace tessera::relay {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_identifier_start(char c) { return is_letter(c) || c == '_' || c == '/'; }
constexpr bool is_identifier_char(char c) { return is_identifier_start(c) || is_digit(c); }

inline constexpr std::string_view kVersionLine = "#[version = \"0.0.5\"]";
inline constexpr std::string_view kMetadataLine = "#[metadata]";
// `#[metadata in "FILE"]`: the constants stand in a file of their own.
inline constexpr std::string_view kMetadataFileLine = "#[metadata in \"";
inline constexpr std::string_view kConstantKey = "relay.Constant";
inline constexpr std::string_view kVirtualDeviceKey = "VirtualDevice";

struct InfixOperator {
  std::string_view text, name;
  int level;  // binds tighter when higher; all are left associative
};
inline constexpr InfixOperator kInfixOperators[] = {
    {"*", "multiply", 12}, {"/", "divide", 12},     {"+", "add", 10},    {"-", "subtract", 10},
    {"<", "less", 8},      {"<=", "less_equal", 8}, {">", "greater", 8}, {">=", "greater_equal", 8},
    {"==", "equal", 7},    {"!=", "not_equal", 7},
};

}  // namespace tessera::relay
