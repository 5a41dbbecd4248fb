// SPDX-License-Identifier: Apache-2.0
// Packing, and the unpacking that libraries do: nothing is lost, and damage is an error.
#include "constants/lossless.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/lossless/block.h"
#include "runtime/lossless/lossless.h"
#include "support/testing/environment.h"

namespace tessera {
namespace {

using Bytes = std::vector<std::byte>;
using lossless::BlockRecord;
using lossless::kBlockElements;

Tensor normal(DType dtype, std::int64_t count, double sigma = 0.02, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> distribution(0, sigma);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& v : values) v = distribution(random);
  return tensor_from_doubles({count}, dtype, values);
}

Bytes bytes_of(const Tensor& t) {
  const auto bytes = t.blob->bytes();
  return {bytes.begin(), bytes.end()};
}

Bytes packed(const Bytes& bytes, DType dtype) {
  const auto blob = packed_without_loss(bytes, dtype);
  return blob != nullptr ? Bytes(blob->bytes().begin(), blob->bytes().end()) : Bytes();
}

// What a library does with a section that has this weight alone, `bytes` long.
std::int32_t unpack(const std::byte* section, std::size_t section_bytes, DType dtype, Bytes& out,
                    std::int32_t threads = 2) {
  const tessera_program_packed weight = {
      0, out.size(), 0, section_bytes, static_cast<std::uint32_t>(dtype.size_bytes()), 0};
  tessera_program program = {};
  program.weights = section;
  program.packed = &weight;
  program.packed_count = 1;
  program.unpacked_bytes = out.size();
  const tessera_unpack_target target = {
      out.data(),
      [](void* memory, const tessera_unpacked_block* block, void** at) -> std::int32_t {
        *at = static_cast<std::byte*>(memory) + block->offset;
        return TESSERA_OK;
      },
      nullptr};
  return tessera_unpack_weights(&program, &target, threads);
}

void expect_back(const Bytes& bytes, DType dtype) {
  const Bytes small = packed(bytes, dtype);
  ASSERT_FALSE(small.empty());
  EXPECT_LT(small.size(), bytes.size());
  EXPECT_EQ(packed(bytes, dtype), small) << "another time, other bytes";
  for (const std::int32_t threads : {1, 3}) {
    Bytes out(bytes.size());
    ASSERT_EQ(unpack(small.data(), small.size(), dtype, out, threads), TESSERA_OK);
    ASSERT_TRUE(out == bytes);
  }
}

TEST(Lossless, WeightsOfANormalDistributionAreSmallerByTheirExponents) {
  const std::pair<DType, double> most[] = {{kBFloat16, 0.68}, {kFloat16, 0.86}, {kFloat32, 0.84}};
  for (const auto& [dtype, ratio] : most) {
    const Bytes bytes = bytes_of(normal(dtype, 1 << 19));
    EXPECT_LT(static_cast<double>(packed(bytes, dtype).size()),
              ratio * static_cast<double>(bytes.size()))
        << to_string(dtype);
    expect_back(bytes, dtype);
  }
}

// As weights of bfloat16 are stored that are computed with as float32.
TEST(Lossless, WhatHasTheDigitsOfBFloat16TakesNoMoreThanThat) {
  const Tensor narrow = normal(kBFloat16, 1 << 18);
  std::vector<double> values;
  for (std::int64_t i = 0; i < narrow.num_elements(); ++i) {
    values.push_back(element_as_double(narrow, i));
  }
  const Bytes wide = bytes_of(tensor_from_doubles({1 << 18}, kFloat32, values));
  EXPECT_LT(static_cast<double>(packed(wide, kFloat32).size()),
            0.34 * static_cast<double>(wide.size()));
  expect_back(wide, kFloat32);
}

TEST(Lossless, EveryNumberOfElementsComesBack) {
  constexpr auto kBlock = static_cast<std::int64_t>(kBlockElements);
  for (const DType dtype : {kBFloat16, kFloat16, kFloat32}) {
    for (const std::int64_t count :
         {std::int64_t{2000}, std::int64_t{2001}, kBlock - 1, kBlock, kBlock + 1, 2 * kBlock + 3}) {
      expect_back(bytes_of(normal(dtype, count)), dtype);
    }
  }
}

TEST(Lossless, NumbersThatAreNoneAndTheSmallestComeBack) {
  for (const DType dtype : {kBFloat16, kFloat16, kFloat32}) {
    const auto size = static_cast<std::size_t>(dtype.size_bytes());
    Bytes bytes = bytes_of(normal(dtype, 200'000));
    // Every 16-bit pattern, in the upper half: NaNs of all kinds, infinities, subnormals, zeros.
    for (std::uint32_t pattern = 0; pattern < 1 << 16; ++pattern) {
      std::memcpy(bytes.data() + (3 * pattern + 1) * size - 2, &pattern, 2);
    }
    for (std::uint32_t i = 0; dtype == kFloat32 && i < 1000; ++i) {  // and of 32 bits
      const std::uint32_t pattern = i % 2 * 0x80000000u + (i % 3 == 0 ? i : 0x7f800000u + i / 2);
      std::memcpy(bytes.data() + (3 * i + 2) * size, &pattern, 4);
    }
    const auto blob = packed_without_loss(bytes, dtype);
    if (blob == nullptr) continue;
    expect_back(bytes, dtype);
  }
}

TEST(Lossless, ASingleValueTakesNextToNothing) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, -0.0f, 1.5f, inf, std::nanf("")}) {
    Bytes bytes(1'000'000);
    for (std::size_t i = 0; i < bytes.size(); i += 4) std::memcpy(bytes.data() + i, &value, 4);
    EXPECT_LT(packed(bytes, kFloat32).size(), 100U);
    expect_back(bytes, kFloat32);
  }
}

TEST(Lossless, WhatWouldNotBeSmallerStays) {
  std::mt19937 random(1);
  Bytes noise(100'000);
  for (std::byte& b : noise) b = static_cast<std::byte>(random());
  for (const DType dtype : {kBFloat16, kFloat16, kFloat32}) {
    EXPECT_EQ(packed_without_loss(noise, dtype), nullptr);
    EXPECT_EQ(packed_without_loss({}, dtype), nullptr);
    const Bytes one(static_cast<std::size_t>(dtype.size_bytes()));
    EXPECT_EQ(packed_without_loss(one, dtype), nullptr);
  }
}

TEST(Lossless, EachChangedByteIsAnError) {
  const Bytes bytes = bytes_of(normal(kBFloat16, 3000));
  Bytes small = packed(bytes, kBFloat16);
  Bytes out(bytes.size());
  for (std::size_t i = 0; i < small.size(); ++i) {
    const auto flip = static_cast<std::byte>(1u << i % 8);
    small[i] ^= flip;
    ASSERT_EQ(unpack(small.data(), small.size(), kBFloat16, out, 1), TESSERA_DAMAGED) << i;
    small[i] ^= flip;
  }
  ASSERT_EQ(unpack(small.data(), small.size(), kBFloat16, out, 1), TESSERA_OK);
  EXPECT_TRUE(out == bytes);
}

TEST(Lossless, BlocksInAnotherOrderAndOfOtherSizesAreErrors) {
  const Bytes bytes = bytes_of(normal(kFloat16, 2 * kBlockElements));
  const Bytes small = packed(bytes, kFloat16);
  BlockRecord records[2];
  std::memcpy(records, small.data(), sizeof records);
  Bytes swapped(small.begin(), small.begin() + sizeof records);
  std::swap(records[0], records[1]);
  std::memcpy(swapped.data(), records, sizeof records);
  const auto blocks = small.begin() + sizeof records;
  swapped.insert(swapped.end(), blocks + records[1].bytes, small.end());
  swapped.insert(swapped.end(), blocks, blocks + records[1].bytes);
  Bytes out(bytes.size());
  EXPECT_EQ(unpack(swapped.data(), swapped.size(), kFloat16, out), TESSERA_DAMAGED);
  for (const std::size_t cut : {std::size_t{1}, small.size() / 2, small.size() - 5, small.size()}) {
    const Bytes rest(small.begin(), small.end() - static_cast<std::ptrdiff_t>(cut));
    EXPECT_EQ(unpack(rest.data(), rest.size(), kFloat16, out), TESSERA_DAMAGED) << cut;
  }
}

// Past the checksums: what is damaged gives an error or other numbers, and touches nothing else.
// The memory ends with what may be touched, so that a sanitizer sees more than that.
TEST(Lossless, DamagedBlocksTouchNothingElse) {
  const std::uint64_t rounds = testing::number_of("TESSERA_FUZZ_ROUNDS", 400);
  auto workspace = std::make_unique<lossless::Workspace>();
  std::mt19937_64 random(testing::number_of("TESSERA_FUZZ_SEED", 1));
  for (const DType dtype : {kBFloat16, kFloat32}) {
    constexpr std::int64_t kCount = 2500;
    const Bytes small = packed(bytes_of(normal(dtype, kCount)), dtype);
    const auto begin = small.begin() + sizeof(BlockRecord);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      Bytes block(begin, round % 4 == 0 ? small.end() - random() % 200 : small.end());
      for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
        // The lengths of codes and the sizes of streams are where most of it is decided.
        const std::size_t at = random() % (round % 2 == 0 ? 150 : block.size());
        block[at] = static_cast<std::byte>(random());
      }
      Bytes out(static_cast<std::size_t>(kCount * dtype.size_bytes()));
      (void)lossless::unpack_block(reinterpret_cast<const unsigned char*>(block.data()),
                                   block.size(), kCount, unsigned(dtype.size_bytes()), out.data(),
                                   *workspace);
    }
  }
}

// A file that was cut is mapped nevertheless; what is missing would end the process.
TEST(Lossless, AFileThatEndsTooEarlyIsAnError) {
  const Bytes bytes = bytes_of(normal(kBFloat16, 2 * kBlockElements));
  const Bytes small = packed(bytes, kBFloat16);
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fwrite(small.data(), 1, small.size(), file), small.size());
  std::fflush(file);
  void* mapped = mmap(nullptr, small.size(), PROT_READ, MAP_PRIVATE, fileno(file), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto* section = static_cast<const std::byte*>(mapped);
  Bytes out(bytes.size());
  ASSERT_EQ(unpack(section, small.size(), kBFloat16, out), TESSERA_OK);
  EXPECT_TRUE(out == bytes);
  if (madvise(mapped, 1, 22 /* MADV_POPULATE_READ */) != 0) GTEST_SKIP() << "before Linux 5.14";
  for (const long left : {200'000L, 4096L, 0L}) {
    ASSERT_EQ(ftruncate(fileno(file), left), 0);
    EXPECT_EQ(unpack(section, small.size(), kBFloat16, out), TESSERA_DAMAGED) << left;
  }
  munmap(mapped, small.size());
  std::fclose(file);
}

}  // namespace
}  // namespace tessera
