// SPDX-License-Identifier: Apache-2.0
// Values of single tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "constants/tensor.h"
#include "relay/attributes.h"
#include "support/expected.h"
#include "types/dim.h"

namespace tessera::relay {

using Finding = std::string;  // what is wrong with a token

// The text between the quotes with escapes replaced; an unknown escape stands for itself.
std::string unquote(std::string_view token);
// `42`, `42i64`, `1.5f16`, `inff`, `-inff64`, `nanf`.
Expected<Tensor, Finding> parse_scalar(std::string_view token);
// The same as an integer or a number.
Expected<AttrValue, Finding> parse_attr_number(std::string_view token);
// `2`, `2i64`: not negative, within 64 bits.
std::optional<std::int64_t> parse_size(std::string_view token);
// Is it `inff`, `nanf16`, ...?
bool is_non_finite(std::string_view word);
// The text inside `#[symbol ...]`: `seq = 8..512 step 8 : 128`.
Expected<Symbol, Finding> parse_symbol(std::string_view text);
std::string symbol_text(const Symbol& symbol);

struct MetaReference {
  std::string key;
  std::size_t index = 0;
};
std::optional<MetaReference> parse_meta(std::string_view token);

}  // namespace tessera::relay
