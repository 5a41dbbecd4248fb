// SPDX-License-Identifier: Apache-2.0
// For tests: a text that is kept beside them, and read when it changes.
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "support/files.h"

namespace tessera::testing {

// The file at `path` says `text`; with TESSERA_UPDATE_GOLDENS in the environment it is written so.
inline void expect_golden(const std::string& path, const std::string& text) {
  if (std::getenv("TESSERA_UPDATE_GOLDENS") != nullptr) {
    ASSERT_TRUE(write_atomically(path, text)) << path;
  }
  const auto golden = read_file(path);
  EXPECT_EQ(golden ? *golden : "", text) << path << ": TESSERA_UPDATE_GOLDENS=1 writes it anew";
}

}  // namespace tessera::testing
