// SPDX-License-Identifier: Apache-2.0
// Attributes of functions and of function literals that the compiler itself goes by; others are
// kept and mean nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "relay/attributes.h"

namespace tessera::relay {

// One kernel: a non-zero `Primitive`.
bool is_primitive(const Attrs& attrs);
// Belongs to whoever made it, and captures nothing: primitive, or with `Compiler` or `Composite`.
bool is_closed(const Attrs& attrs);

// Beside `main`, what is run from outside of the module: a non-zero `EntryPoint`.
inline constexpr std::string_view kEntryPoint = "EntryPoint";

// The first attribute that has a value of another kind than its meaning needs, in words.
std::optional<std::string> wrong_function_attribute(const Attrs& attrs);

}  // namespace tessera::relay
