// SPDX-License-Identifier: Apache-2.0
#include "constants/tensor.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>
#include <unistd.h>

#include "constants/doubles.h"
#include "constants/made_weight.h"
#include "constants/pool.h"
#include "support/check.h"
#include "support/files.h"
#include "support/jobs.h"

namespace tessera {
namespace {

using Shape64 = std::vector<std::int64_t>;

constexpr DType kAll[] = {kFloat16, kFloat32, kFloat64, kBFloat16, kInt8,   kInt16, kInt32,
                          kInt64,   kUInt8,   kUInt16,  kUInt32,   kUInt64, kBool};

TEST(Tensors, EveryDtypeHoldsSmallNumbers) {
  for (const DType dtype : kAll) {
    const auto values = std::vector<double>{0, 1, 1, 0};
    const Tensor t = tensor_from_doubles({2, 2}, dtype, values);
    EXPECT_EQ(t.size_bytes(), 4 * dtype.size_bytes());
    EXPECT_EQ(t, tensor_from_ints({2, 2}, dtype, Shape64{0, 1, 1, 0}));
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(element_as_double(t, i), values[static_cast<std::size_t>(i)]) << to_string(dtype);
      EXPECT_EQ(element_as_int(t, i),
                static_cast<std::int64_t>(values[static_cast<std::size_t>(i)]));
    }
    EXPECT_EQ(to_string(t.type()), "Tensor[(2, 2), " + to_string(dtype) + "]");
  }
}

double through(DType dtype, double value) {
  return element_as_double(tensor_from_doubles({}, dtype, std::vector{value}), 0);
}

TEST(Tensors, DoublesRoundToEvenAndStayInRange) {
  EXPECT_EQ(through(kInt32, 2.5), 2);
  EXPECT_EQ(through(kInt32, 3.5), 4);
  EXPECT_EQ(through(kInt32, -2.5), -2);
  EXPECT_EQ(through(kInt8, 300), 127);
  EXPECT_EQ(through(kInt8, -300), -128);
  EXPECT_EQ(through(kUInt8, -1), 0);
  EXPECT_EQ(through(kInt64, 1e300), 0x1p63);
  EXPECT_EQ(through(kUInt64, 1e300), 0x1p64);
  EXPECT_EQ(through(kInt16, std::nan("")), 0);
  EXPECT_EQ(through(kBool, 0.25), 1);
  EXPECT_EQ(through(kFloat16, 65520), std::numeric_limits<double>::infinity());
  EXPECT_EQ(through(kFloat32, 0.1), static_cast<double>(0.1f));
}

TEST(Tensors, IntegersAreRoundedOnce) {
  const auto through_int = [](DType dtype, std::int64_t value) {
    return element_as_double(tensor_from_ints({}, dtype, Shape64{value}), 0);
  };
  // 2^62 + half a unit of the last place + 1: rounds up, but as a double it would be a tie.
  for (const int digits : {8, 24}) {
    const DType dtype = digits == 8 ? kBFloat16 : kFloat32;
    const std::int64_t one = std::int64_t{1} << 62, half = std::int64_t{1} << (62 - digits);
    EXPECT_EQ(through_int(dtype, one + half), std::ldexp(1, 62));
    EXPECT_EQ(through_int(dtype, one + half + 1), std::ldexp(1, 62) + std::ldexp(2, 62 - digits));
    EXPECT_EQ(through_int(dtype, -one - half - 1), -std::ldexp(1, 62) - std::ldexp(2, 62 - digits));
  }
  EXPECT_EQ(through_int(kInt8, 257), 1);  // the low bits, as a cast
  EXPECT_EQ(through_int(kBool, 256), 1);
  EXPECT_EQ(through_int(kFloat64, std::numeric_limits<std::int64_t>::min()), -0x1p63);
}

TEST(Tensors, ElementsAsIntegers) {
  EXPECT_EQ(element_as_int(Tensor::scalar(-2.9f, kFloat32), 0), -2);
  EXPECT_EQ(element_as_int(Tensor::scalar(1e30, kFloat64), 0),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(element_as_int(Tensor::scalar(std::int64_t{1} << 62, kInt64), 0),
            std::int64_t{1} << 62);
  EXPECT_THROW(element_as_int(Tensor::scalar(1.0f, kFloat32), 1), InternalError);
}

TEST(Tensors, BytesMustFitShapeAndType) {
  EXPECT_THROW(Tensor({2}, kFloat32, Blob::adopt(std::vector<std::byte>(4))), InternalError);
  EXPECT_THROW(Tensor({-1}, kFloat32, Blob::adopt({})), InternalError);
  EXPECT_THROW(Tensor({1ll << 40, 1ll << 40}, kFloat32, Blob::adopt({})), InternalError);
  EXPECT_EQ(Tensor({1ll << 40, 0, 1ll << 40}, kFloat32, Blob::adopt({})).num_elements(), 0);
}

TEST(Tensors, EqualityIsOfShapeTypeAndBytes) {
  const Tensor a = Tensor::of<float>({2, 1}, kFloat32, {1, 2});
  EXPECT_EQ(a, Tensor::of<float>({2, 1}, kFloat32, {1, 2}));
  EXPECT_EQ(a.hash(), Tensor::of<float>({2, 1}, kFloat32, {1, 2}).hash());
  EXPECT_NE(a, Tensor::of<float>({1, 2}, kFloat32, {1, 2}));
  EXPECT_NE(a, Tensor::of<float>({2, 1}, kFloat32, {1, 3}));
  EXPECT_NE(a, Tensor({2, 1}, kInt32, a.blob));
  EXPECT_NE(a.hash(), Tensor({2, 1}, kInt32, a.blob).hash());
}

TEST(Blobs, MapPartsOfFiles) {
  const auto dir = TempDir::make("tessera-test-");
  const std::string path = dir->file("weights");
  std::string content(100000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i % 251);
  ASSERT_TRUE(write_atomically(path, content));
  const auto blob = Blob::map_file(path, 1001, 90000);
  ASSERT_TRUE(blob);
  const auto text_of = [](const Blob& b) {
    return std::string_view(reinterpret_cast<const char*>(b.bytes().data()), b.size_bytes());
  };
  EXPECT_EQ(text_of(**blob), content.substr(1001, 90000));
  const auto part = Blob::slice(*blob, 7, 20000);
  EXPECT_EQ(part->hash(), hash_text(content.substr(1008, 20000)));
  (*blob)->release_pages();
  part->release_pages();
  EXPECT_EQ(text_of(*part), content.substr(1008, 20000));  // read again from the file
  const auto owned = Blob::copy_of((*blob)->bytes());
  owned->release_pages();  // must not touch memory that no file backs
  EXPECT_EQ(text_of(*owned), content.substr(1001, 90000));
}

// The resident set of this process, from the second field of statm.
std::int64_t resident_set_bytes() {
  const std::string text = *read_file("/proc/self/statm");
  return std::stoll(text.substr(text.find(' '))) * sysconf(_SC_PAGESIZE);
}

TEST(Blobs, HashingLargeWeightsLeavesThemOnDisk) {
  const auto dir = TempDir::make("tessera-test-");
  constexpr std::int64_t kBytes = 64 << 20;
  ASSERT_TRUE(write_atomically(dir->file("weights"), std::string(kBytes, 'w')));
  const auto blob = Blob::map_file(dir->file("weights"));
  ASSERT_TRUE(blob);
  const std::int64_t before = resident_set_bytes();
  const Hash128 hash = (*blob)->hash();
  EXPECT_LT(resident_set_bytes() - before, kBytes / 4);
  EXPECT_EQ(hash, hash_bytes((*blob)->bytes()));
}

TEST(Blobs, WhatIsMadeOfLargeWeightsLiesOnDisk) {
  const auto dir = TempDir::make("tessera-test-");
  constexpr std::size_t kBytes = 64 << 20;
  const auto made = [](std::size_t size) {
    return made_weight(std::vector<std::byte>(size, std::byte{7}));
  };
  ASSERT_EQ(setenv("TMPDIR", dir->path().c_str(), 1), 0);
  [[maybe_unused]] const std::int64_t before = resident_set_bytes();
  const auto blob = made(kBytes);
#ifndef TESSERA_SANITIZED  // which keep what was freed for a while
  EXPECT_LT(resident_set_bytes() - before, static_cast<std::int64_t>(kBytes / 4));
#endif
  EXPECT_TRUE(std::filesystem::is_empty(dir->path()));  // it has no name
  for (const char* place : {dir->path().c_str(), "/nowhere"}) {
    ASSERT_EQ(setenv("TMPDIR", place, 1), 0);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kBytes / 2}) {
      EXPECT_EQ(made(size)->hash(), hash_bytes(std::vector<std::byte>(size, std::byte{7})));
    }
  }
  unsetenv("TMPDIR");
  EXPECT_EQ(blob->hash(), hash_bytes(blob->bytes()));
  EXPECT_EQ(blob->bytes()[kBytes - 1], std::byte{7});
}

TEST(Blobs, MappingSaysWhatIsWrong) {
  const auto dir = TempDir::make("tessera-test-");
  ASSERT_TRUE(write_atomically(dir->file("short"), "abc"));
  ASSERT_TRUE(write_atomically(dir->file("empty"), ""));
  const auto code_of = [](const auto& result) { return result.error().list.front().code; };
  EXPECT_EQ(code_of(Blob::map_file(dir->file("none"), 0, 1)), Code::kFileNotFound);
  EXPECT_EQ(code_of(Blob::map_file(dir->file("empty"))), Code::kFileEmpty);
  EXPECT_EQ(code_of(Blob::map_file(dir->file("short"), 1, 3)), Code::kExternalData);
  EXPECT_EQ(code_of(Blob::map_file(dir->file("short"), ~0ull, 2)), Code::kExternalData);
  EXPECT_TRUE(Blob::map_file(dir->file("short"), 3, 0));
}

TEST(Blobs, MisalignedDataAreReadThroughACopy) {
  std::vector<std::byte> bytes(1 + 4 * sizeof(double));
  const double values[] = {1, -2, 3, 4};
  std::memcpy(&bytes[1], values, sizeof values);
  const Tensor t({4}, kFloat64, Blob::slice(Blob::adopt(bytes), 1, sizeof values));
  std::vector<const double*> seen(8);
  run_jobs(seen.size(), 4, [&](std::size_t i) { seen[i] = t.as<double>().data(); });
  for (const double* at : seen) EXPECT_EQ(at, seen.front());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(seen.front()) % alignof(double), 0u);
  EXPECT_EQ(t.as<double>()[1], -2);
  EXPECT_EQ(element_as_double(t, 2), 3);
  t.blob->release_pages();
  EXPECT_EQ(t.as<double>()[3], 4);
}

TEST(Tensors, ManyElementsAreReadAsEachByItself) {
  for (const DType dtype : kAll) {
    std::vector<double> some;
    for (int i = 0; i < 300; ++i)
      some.push_back(dtype.is_bool() ? i % 2 : i % 120 - 0.25 * (i % 7));
    const Tensor t = tensor_from_doubles({3, 100}, dtype, some);
    std::vector<double> found(250);
    elements_as_doubles(t, 50, found);
    for (int i = 0; i < 250; ++i) {
      ASSERT_EQ(found[static_cast<std::size_t>(i)], element_as_double(t, 50 + i))
          << to_string(dtype) << ' ' << i;
    }
    EXPECT_THROW(elements_as_doubles(t, 51, found), InternalError);
  }
}

TEST(Pool, KeepsEachConstantOnceAndSharesBytes) {
  ConstantPool pool;
  const auto a = pool.add(Tensor::of<float>({2}, kFloat32, {1, 2}));
  const auto same = pool.add(Tensor::of<float>({2}, kFloat32, {1, 2}));
  const auto reshaped = pool.add(Tensor::of<float>({1, 2}, kFloat32, {1, 2}));
  const auto other = pool.add(Tensor::of<float>({2}, kFloat32, {1, 3}));
  EXPECT_EQ(a, same);
  EXPECT_NE(a, reshaped);
  EXPECT_EQ(pool.size(), 3u);
  EXPECT_EQ(pool[a].blob, pool[reshaped].blob);
  EXPECT_NE(pool[a].blob, pool[other].blob);
  EXPECT_EQ(&pool.resolve(ConstantValue(other)), &pool[other]);
  const ConstantValue immediate = Tensor::scalar(1.0f, kFloat32);
  EXPECT_EQ(pool.resolve(immediate), Tensor::scalar(1.0f, kFloat32));
  EXPECT_THROW(pool.resolve(ConstantValue(ConstantIndex(3))), InternalError);
}

}  // namespace
}  // namespace tessera
