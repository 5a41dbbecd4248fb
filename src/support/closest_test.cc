// SPDX-License-Identifier: Apache-2.0
#include "support/closest.h"

#include <string>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Closest, IsWhatWasMeant) {
  const std::string_view commands[] = {"compile", "tune", "run", "bench", "inspect"};
  EXPECT_EQ(closest("compil", commands), "compile");
  EXPECT_EQ(closest("complie", commands), "compile");
  EXPECT_EQ(closest("bnech", commands), "bench");
  EXPECT_EQ(closest("inspekt", commands), "inspect");
  EXPECT_EQ(closest("ru", commands), "run");
  EXPECT_EQ(closest("x", commands), "");
  EXPECT_EQ(closest("", commands), "");
  EXPECT_EQ(closest("model.onnx", commands), "");
  EXPECT_EQ(closest(std::string(100'000, 'c'), commands), "");
  EXPECT_EQ(closest("compile", {}), "");
}

}  // namespace
}  // namespace tessera
