// SPDX-License-Identifier: Apache-2.0
#include "runtime/blake2b.h"

#include <string>

#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

// As `b2sum -l 256` says.
TEST(Blake2b, HashesAreThoseOfTheStandard) {
  const auto hash = [](const std::string& text) {
    return std::string(Blake2b(text.data(), text.size()).text);
  };
  EXPECT_EQ(hash(""), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(hash("abc"), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  EXPECT_EQ(hash(std::string(127, 'x')),
            "32afe327aece2cc8275e868be2ea929410f47bcfbac87d8197d92c972a290d3d");
  EXPECT_EQ(hash(std::string(128, 'x')),
            "164ffb7089bae6f5a62fb0795e751dc9e88eac92e1a5b2fafe93a25abf2d9c3b");
  EXPECT_EQ(hash(std::string(129, 'x')),
            "03b0758fa71d249c846c2304a2b9996e6ae66ffa7e5528f9e612e089a360fc8d");
  EXPECT_EQ(hash(std::string(100'000, 'y')),
            "17509e9bfd9e422831ef0b03cf7480231987cfe772fc5eef7b4ce0c312a64caa");
}

}  // namespace
}  // namespace tessera::runtime
