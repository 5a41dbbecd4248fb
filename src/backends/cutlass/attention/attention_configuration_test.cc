// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/attention/attention_configuration.h"

#include <set>

#include <gtest/gtest.h>

namespace tessera::backends::cutlass {
namespace {

Attention attention(std::int64_t batch, std::int64_t width) {
  Attention a;
  a.batch = batch, a.heads = 16, a.queries = a.keys = 384, a.width = width;
  a.dtype = kFloat16;
  return a;
}

const Target kHopper("cutlass");

std::string first(const Attention& a, const Device& device = {}) {
  return candidates(a, kHopper, device).front().text();
}

TEST(AttentionConfigurations, ReadBackEqual) {
  for (const char* text : {"sm90_64x128_SelfLoading dependent", "sm90_64x192_SelfLoading",
                           "sm90_128x128_PersistentPair", "sm90_128x64_PersistentPair dependent"}) {
    const auto read = parse_attention_configuration(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
  }
  for (const char* text :
       {"", "sm90_64x128", "sm90_64x128_Pingpong", "sm90_64_SelfLoading",
        "sm90_64x128_SelfLoading z1 auto", "sm90_64x128x64_c1x1_pingpong z1 m"}) {
    EXPECT_FALSE(parse_attention_configuration(text)) << text;
  }
}

TEST(AttentionConfigurations, PairsOfGroupsWhereThereIsWorkForAll) {
  EXPECT_EQ(first(attention(2, 64)), "sm90_64x128_SelfLoading dependent");      // 96 blocks
  EXPECT_EQ(first(attention(3, 64)), "sm90_128x128_PersistentPair dependent");  // 144
  EXPECT_EQ(first(attention(1, 128)), "sm90_64x64_SelfLoading dependent");
  EXPECT_EQ(first(attention(8, 128)), "sm90_128x128_PersistentPair dependent");
  EXPECT_EQ(first(attention(8, 160)), "sm90_128x64_PersistentPair dependent");
  EXPECT_EQ(first(attention(8, 256)), "sm90_128x32_PersistentPair dependent");
  // Whatever all are.
  EXPECT_EQ(first(attention(2, 64), {96}), "sm90_128x128_PersistentPair dependent");
  EXPECT_EQ(first(attention(3, 64), {145}), "sm90_64x128_SelfLoading dependent");
  Attention causal = attention(8, 64);
  causal.is_causal = true;
  EXPECT_EQ(first(causal), "sm90_64x128_SelfLoading dependent");
  causal.mask = HeadsView{};  // goes through all keys
  EXPECT_EQ(first(causal), "sm90_128x128_PersistentPair dependent");
}

// Kernels count the distances between parts of a mask with 32 bits.
TEST(AttentionConfigurations, AreNoneForMasksBeyondThat) {
  Attention masked = attention(8, 64);
  masked.mask = HeadsView{};
  masked.mask->batch_stride = INT32_MAX;
  EXPECT_FALSE(check_kernels(masked, kHopper));
  ++masked.mask->batch_stride;
  ASSERT_TRUE(check_kernels(masked, kHopper));
  EXPECT_EQ(check_kernels(masked, kHopper)->reason,
            "parts of the mask are more than 2^31 elements apart");
}

TEST(AttentionConfigurations, AreDifferentKernelsOfBothKinds) {
  for (const std::int64_t width : {64, 128, 192, 256}) {
    for (const std::int64_t batch : {1, 32}) {
      const auto all = candidates(attention(batch, width), kHopper, {});
      std::set<std::string> kernels;
      for (const auto& c : all) EXPECT_TRUE(kernels.insert(c.kernel_name()).second);
      EXPECT_NE(all[0].schedule, all[1].schedule);
    }
  }
}

TEST(AttentionConfigurations, AMaskOfEachQueryLeavesRoomForFewerKeys) {
  Attention a = attention(1, 64);
  const std::size_t count = candidates(a, kHopper, {}).size();
  a.mask = HeadsView{};
  EXPECT_EQ(candidates(a, kHopper, {}).size(), count);
  a.mask->row_stride = 384;
  EXPECT_EQ(candidates(a, kHopper, {}).size(), count - 2);
}

TEST(AttentionConfigurations, PackedTensorsShareMemory) {
  const relay::NodeId one{1}, two{2}, three{3};
  Attention a = attention(1, 64);
  const auto memories = [&](relay::NodeId q, relay::NodeId k, relay::NodeId v) {
    a.q.node = q, a.k.node = k, a.v.node = v;
    return memories_of(a);
  };
  EXPECT_EQ(memories(one, one, one), (std::array{0, 0, 0}));
  EXPECT_EQ(memories(one, two, two), (std::array{0, 1, 1}));
  EXPECT_EQ(memories(one, two, one), (std::array{0, 1, 0}));
  EXPECT_EQ(memories(one, one, two), (std::array{0, 0, 1}));
  EXPECT_EQ(memories(one, two, three), (std::array{0, 1, 2}));
}

}  // namespace
}  // namespace tessera::backends::cutlass
