// SPDX-License-Identifier: Apache-2.0
#include "runtime/inflate/inflate.h"

#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

namespace tessera::runtime {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes some_bytes() {
  Bytes bytes(300'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(i * i % 251 + i / 1000);
  }
  return bytes;
}

Bytes packed(const Bytes& bytes) {
  uLongf size = compressBound(bytes.size());
  Bytes out(size);
  EXPECT_EQ(compress2(out.data(), &size, bytes.data(), bytes.size(), 6), Z_OK);
  out.resize(size);
  return out;
}

TEST(Inflate, GivesBackWhatWasPacked) {
  const Bytes bytes = some_bytes(), small = packed(bytes);
  Bytes out(bytes.size());
  EXPECT_EQ(tessera_inflate(small.data(), small.size(), out.data(), out.size()), 0);
  EXPECT_EQ(out, bytes);
}

TEST(Inflate, RefusesWhatIsDamagedCutOrOfAnotherSize) {
  const Bytes bytes = some_bytes(), small = packed(bytes);
  Bytes out(bytes.size() + 1);
  const auto status = [&](const Bytes& from, std::size_t size) {
    return tessera_inflate(from.data(), from.size(), out.data(), size);
  };
  Bytes damaged = small;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_NE(status(damaged, bytes.size()), 0);
  EXPECT_NE(status(Bytes(small.begin(), small.end() - 9), bytes.size()), 0);
  EXPECT_NE(status(small, bytes.size() - 1), 0);
  EXPECT_NE(status(small, bytes.size() + 1), 0);
  EXPECT_NE(status({}, bytes.size()), 0);
}

}  // namespace
}  // namespace tessera::runtime
