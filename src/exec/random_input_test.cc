// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <gtest/gtest.h>

#include "exec/session.h"

namespace tessera::exec {
namespace {

TEST(RandomInput, IsTheSameForASeed) {
  for (const DType dtype : {kFloat32, kFloat16, kInt64, kBool}) {
    const PortInfo port{"x", dtype, {7, 33}};
    EXPECT_EQ(random_input(port, 3), random_input(port, 3));
    EXPECT_FALSE(random_input(port, 3) == random_input(port, 4));
  }
  EXPECT_EQ(random_input({"x", kFloat32, {-1, 0, 3}}, 1).shape,
            (std::vector<std::int64_t>{1, 0, 3}));
}

// Of a large one the beginning follows again, and never in the same place of a row.
TEST(RandomInput, ALargeOneRepeatsItself) {
  constexpr std::size_t kColumns = 4096, kRows = 600;
  const Tensor large = random_input({"x", kFloat32, {kRows, kColumns}}, 1);
  const Tensor small = random_input({"x", kFloat32, {2, kColumns}}, 1);
  const auto bytes = large.blob->bytes();
  ASSERT_EQ(bytes.size(), kRows * kColumns * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), small.blob->bytes().data(), 2 * kColumns * sizeof(float)), 0);
  for (std::size_t row = 1; row < kRows; ++row) {
    ASSERT_NE(std::memcmp(bytes.data(), bytes.data() + row * kColumns * sizeof(float),
                          kColumns * sizeof(float)),
              0)
        << row;
  }
}

}  // namespace
}  // namespace tessera::exec
