// SPDX-License-Identifier: Apache-2.0
// For tests of what not every machine has: where that is missing they are skipped, unless
// $TESSERA_TESTS_REQUIRE names it ("nvcc,cutlass").
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace tessera::testing {

// Gives back `found`; a failure where that is false and `what` is required.
inline bool is_there(const std::string& what, bool found) {
  const char* required = std::getenv("TESSERA_TESTS_REQUIRE");
  const std::string list = std::string(",") + (required == nullptr ? "" : required) + ",";
  if (!found && list.find("," + what + ",") != std::string::npos) {
    ADD_FAILURE() << what << " is missing, and TESSERA_TESTS_REQUIRE names it";
  }
  return found;
}

}  // namespace tessera::testing
