// SPDX-License-Identifier: Apache-2.0
// What tests that can go on for long are told by the environment.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tessera::testing {

inline std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace tessera::testing
