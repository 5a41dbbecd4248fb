// SPDX-License-Identifier: Apache-2.0
#include "plan/pool.h"

#include <gtest/gtest.h>

namespace tessera::plan {
namespace {

TEST(PoolText, AllAttributesAreReadAndWritten) {
  const std::string text =
      "name=fast,space=host,size=2000000,align=256,targets=cpu+onednn,clock=1000000000,"
      "read-bandwidth=32,write-bandwidth=16,read-latency=4,write-latency=8,burst=cpu:64+onednn:32";
  const auto pool = parse_pool(text);
  ASSERT_TRUE(pool) << pool.error().list[0].message;
  EXPECT_EQ(pool->limit_bytes, 2'000'000);
  EXPECT_EQ(pool->targets, (std::vector<std::string>{"cpu", "onednn"}));
  EXPECT_EQ(pool->burst_bytes.at("onednn"), 32);
  EXPECT_EQ(to_string(*pool), text);
}

TEST(PoolText, WhatIsNotSaidIsNotRestricted) {
  const auto pool = parse_pool("name=a");
  ASSERT_TRUE(pool);
  EXPECT_EQ(pool->limit_bytes, -1);
  EXPECT_EQ(to_string(*pool), "name=a,space=host");
}

TEST(PoolText, UnitsOfSizes) {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"0", 0},         {"17", 17},        {"3kB", 3000},     {"3KB", 3000},
      {"2MB", 2000000}, {"2MiB", 2 << 20}, {"1GiB", 1 << 30}, {"1GB", 1000000000}};
  for (const auto& [text, bytes] : sizes) {
    const auto pool = parse_pool(std::string("name=a,size=") + text);
    ASSERT_TRUE(pool) << text;
    EXPECT_EQ(pool->limit_bytes, bytes) << text;
  }
}

TEST(PoolText, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "`` is no attribute of a pool"},
      {"space=host", "it has no name"},
      {"name=a,speed=9", "`speed=9` is no attribute of a pool; it has name, space, size"},
      {"name=a,size", "`size` is no attribute of a pool"},
      {"name=a,size=-1", "`size` must be a number of bytes"},
      {"name=a,size=9999999999GB", "`size` must be"},
      {"name=a,size=2TB", "`size` must be"},
      {"name=a b", "`name` must be a name"},
      {"name=1a", "`name` must be a name"},
      {"name=a,name=b", "`name` is given twice"},
      {"name=a,space=disk", "`space` must be a memory space"},
      {"name=a,align=48", "`align` must be a power of two"},
      {"name=a,targets=cpu+tpu", "`targets` must be kinds of targets"},
      {"name=a,burst=cpu", "`burst` must be bytes by target"}};
  for (const auto& [text, finding] : cases) {
    const auto pool = parse_pool(text);
    ASSERT_FALSE(pool) << text;
    EXPECT_EQ(pool.error().list[0].code, Code::kBadOption);
    EXPECT_NE(pool.error().list[0].message.find(finding), std::string::npos)
        << pool.error().list[0].message;
  }
}

TEST(PoolText, NoTwoHaveOneName) {
  const std::vector<std::string> texts = {"name=a,size=4", "name=a"};
  const auto pools = parse_pools(texts);
  ASSERT_FALSE(pools);
  EXPECT_NE(pools.error().list[0].message.find("there is a pool `a` already"), std::string::npos);
}

}  // namespace
}  // namespace tessera::plan
