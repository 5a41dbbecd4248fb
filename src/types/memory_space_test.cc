// SPDX-License-Identifier: Apache-2.0
#include "types/memory_space.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(MemorySpace, ItsTextIsReadBack) {
  const MemorySpace spaces[] = {
      {DeviceType::kCpu, 0, MemoryKind::kHost},      {DeviceType::kCpu, 0, MemoryKind::kPinnedHost},
      {DeviceType::kCpu, 0, MemoryKind::kConstant},  {DeviceType::kCuda, 0, MemoryKind::kDevice},
      {DeviceType::kCuda, 3, MemoryKind::kDevice},   {DeviceType::kCuda, 0, MemoryKind::kConstant},
      {DeviceType::kCuda, 12, MemoryKind::kConstant}};
  for (const MemorySpace& space : spaces) {
    EXPECT_EQ(parse_memory_space(to_string(space)), space) << to_string(space);
  }
  EXPECT_EQ(to_string(main_memory(DeviceType::kCpu)), "host");
  EXPECT_EQ(to_string(main_memory(DeviceType::kCuda)), "cuda");
  EXPECT_EQ(to_string(spaces[6]), "cuda:12/constant");
  EXPECT_EQ(parse_memory_space("device:3"), spaces[4]);
}

TEST(MemorySpace, OtherTextIsNone) {
  for (const char* text : {"", "disk", "host:1", "host/constant", "cuda:", "cuda:-1", "cuda:1x",
                           "cuda:1/fast", "cuda:99999999999", "pinned:0", "Host"}) {
    EXPECT_EQ(parse_memory_space(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tessera
