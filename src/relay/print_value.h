// SPDX-License-Identifier: Apache-2.0
// The text of scalars, attribute values and names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "constants/tensor.h"
#include "relay/attributes.h"

namespace tessera::relay {

// `1f`, `42i64`, `True`, `inff16`; nothing for what has no literal (rank above 0, small and
// unsigned integers, bfloat16, NaN, whose bits a literal would lose).
std::optional<std::string> scalar_literal(const Tensor& tensor);
std::string attr_text(const AttrValue& value);
// `@main`, or `@"..."` where the name is no identifier.
std::string global_text(std::string_view name);

// Hands out the names of locals: legal and unique.
class NameAllocator {
 public:
  // `%` and the hint, made legal, with a number after it if it has been handed out.
  std::string local(std::string_view hint);
  // The name as it is, `%"..."` where it is no identifier, unless it has been handed out.
  std::string exact(std::string_view name);

 private:
  std::unordered_map<std::string, int> used_;  // never iterated
};

}  // namespace tessera::relay
