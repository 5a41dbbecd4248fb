// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace tessera::testing {

inline void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no: " << part;
}

}  // namespace tessera::testing
