// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/limits.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Limits, GrowWithTheModel) {
  const Limits small = limits_for(100), large = limits_for(std::uint64_t{1} << 30);
  EXPECT_GT(large.fold_work, small.fold_work);
  EXPECT_GT(large.constant_bytes, small.constant_bytes);
  EXPECT_GE(large.nodes, small.nodes);
  EXPECT_LE(small.constant_bytes, 64 << 20);
  EXPECT_EQ(limits_for(UINT64_MAX).fold_work, INT64_MAX) << "no sum overflows";
}

TEST(Limits, AreSetByName) {
  const std::string texts[] = {"fold-work=7", "nodes=0"};
  const auto given = parse_limits(texts);
  ASSERT_TRUE(given);
  EXPECT_EQ(limits_for(1000, *given).fold_work, 7);
  EXPECT_EQ(limits_for(1000, *given).nodes, 0);
  EXPECT_EQ(limits_for(1000, *given).depth, limits_for(1000).depth);
  EXPECT_EQ(limits_for(9, bindings_of(limits_for(1000, *given))).constant_bytes,
            limits_for(1000).constant_bytes);
}

TEST(Limits, WhatIsNoLimitIsRefused) {
  for (const std::string text : {"", "=", "nodes", "nodes=", "nodes=-1", "nodes=1x", "seconds=3",
                                 "nodes=99999999999999999999"}) {
    const auto given = parse_limits(std::span(&text, 1));
    ASSERT_FALSE(given) << text;
    EXPECT_EQ(given.error().list[0].code, Code::kBadOption);
    EXPECT_NE(given.error().list[0].message.find("fold-work, constant-bytes, nodes, depth"),
              std::string::npos);
  }
  const std::string twice[] = {"depth=1", "depth=2"};
  EXPECT_FALSE(parse_limits(twice));
}

TEST(Limits, AnErrorSaysHowToRaiseIt) {
  const Diagnostic d = limit_exceeded(nullptr, "nodes", 10, "the graph", 11);
  EXPECT_EQ(d.code, Code::kLimitExceeded);
  EXPECT_EQ(d.message, "the graph needs 11, and the limit `nodes` is 10");
  EXPECT_NE(d.remedy.find("--limit nodes=NUMBER"), std::string::npos);
}

}  // namespace
}  // namespace tessera
