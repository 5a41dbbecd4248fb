// SPDX-License-Identifier: Apache-2.0
// What happens at run time: sizes that are open, algorithms of another version.
#include "backends/cublas/runtime/call_site.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cublas/testing/fake.h"

namespace tessera::backends::cublas {
namespace {

Spec dense(std::int64_t m) {
  Spec spec;
  spec.a_type = spec.b_type = spec.result = Scalar::kFloat32;
  spec.b_transposed = 1;
  spec.m = m;
  spec.n = 4;
  spec.k = 8;
  spec.batch = 1;
  spec.workspace_bytes = 4096;
  return spec;
}

Spec with_algorithm(Spec spec, std::uint64_t number) {
  spec.algorithm[0] = number;
  spec.version = static_cast<std::int64_t>(found_library().version);
  return spec;
}

class CallSiteTest : public ::testing::Test {
 protected:
  std::unique_ptr<CallSite> site(const Spec& spec) {
    library_ = std::make_unique<OpenedLibrary>();
    auto made = std::make_unique<CallSite>(library_->get(), spec);
    TextBuffer error;
    EXPECT_TRUE(made->create(&error)) << error.text();
    return made;
  }
  // Is it right for so many rows? The device's time is counted.
  void expect_right(CallSite& site, std::int64_t m) {
    alignas(16) float x[64 * 8], w[4 * 8], y[64 * 4] = {};
    for (int i = 0; i < 64 * 8; ++i) x[i] = static_cast<float>(i % 13);
    for (int i = 0; i < 4 * 8; ++i) w[i] = static_cast<float>(i % 5);
    std::int64_t shapes[3][2] = {{m, 8}, {4, 8}, {m, 4}};
    tessera_tensor tensors[3] = {};
    void* data[3] = {x, w, y};
    for (int i = 0; i < 3; ++i)
      tensors[i] = {data[i], {TESSERA_CPU, 0}, 2, {2, 32, 1}, shapes[i], nullptr, 0};
    tessera_tensor* pointers[3] = {&tensors[0], &tensors[1], &tensors[2]};
    alignas(64) char workspace[4096 + 256];
    tessera_call call = {};
    call.workspace = workspace;
    TextBuffer error;
    const auto now = testing::fake_function<std::uint64_t()>("fake_cublaslt_now_ns");
    const std::uint64_t begin = now();
    ASSERT_TRUE(site.run(call, pointers, 3, &error)) << error.text();
    us_ = static_cast<double>(now() - begin) * 1e-3;
    for (std::int64_t i = 0; i < m; ++i) {
      for (int j = 0; j < 4; ++j) {
        float sum = 0;
        for (int k = 0; k < 8; ++k) sum += x[i * 8 + k] * w[j * 8 + k];
        EXPECT_EQ(y[i * 4 + j], sum) << i << ", " << j;
      }
    }
  }

  std::unique_ptr<OpenedLibrary> library_;
  double us_ = 0;
};

constexpr double kFirstUs = 20, kFastUs = 10;  // of the stand-in's algorithms

TEST_F(CallSiteTest, WithoutRecordsTheHeuristicsFirstIsTaken) {
  const auto made = site(dense(5));
  expect_right(*made, 5);
  EXPECT_EQ(us_, kFirstUs);
  EXPECT_STREQ(made->note(), "");
}

TEST_F(CallSiteTest, TheAlgorithmOnRecordIsTaken) {
  const auto made = site(with_algorithm(dense(5), 102));
  expect_right(*made, 5);
  EXPECT_EQ(us_, kFastUs);
  EXPECT_STREQ(made->note(), "");
}

TEST_F(CallSiteTest, OneOfAnotherVersionIsNotAndThatIsSaid) {
  const Spec spec = with_algorithm(dense(5), 102);
  const testing::Setting setting("FAKE_CUBLASLT_VERSION", "130204");
  library_ = std::make_unique<OpenedLibrary>();
  Library other = library_->get();
  other.version = other.api.GetVersion();
  CallSite made(other, spec);
  TextBuffer error;
  ASSERT_TRUE(made.create(&error)) << error.text();
  expect_right(made, 5);
  EXPECT_EQ(us_, kFirstUs);
  EXPECT_STREQ(made.note(),
               "the algorithm that was measured is not taken but the heuristic's first: it is of "
               "cublasLt 13.1.0, and this is 13.2.4");
}

TEST_F(CallSiteTest, OneThatTheLibraryRefusesIsNotAndThatIsSaid) {
  const auto made = site(with_algorithm(dense(5), 666));
  expect_right(*made, 5);
  EXPECT_EQ(us_, kFirstUs);
  EXPECT_STREQ(made->note(),
               "the algorithm that was measured is not taken but the heuristic's first: cublasLt "
               "refuses the algorithm: it is not supported");
}

// More than there is room for plans, and each of them twice.
TEST_F(CallSiteTest, OpenSizesAreAnyAndTheRecordsIsTakenAtItsOwn) {
  Spec spec = with_algorithm(dense(-1), 102);
  spec.best_m = 7;
  const auto made = site(spec);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t m = 1; m <= 40; ++m) {
      expect_right(*made, m);
      EXPECT_EQ(us_, m == 7 ? kFastUs : kFirstUs) << m;
    }
  }
  expect_right(*made, 0);
  EXPECT_EQ(us_, 0);
}

// Where scales are one for each column alone, there are so many rows at once as there are ones.
TEST_F(CallSiteTest, RowsWithoutScalesAreTakenAsManyAtATimeAsThereAreOnes) {
  constexpr std::int64_t kRows = 20, kColumns = 16, kTerms = 16, kOnes = 8;
  Spec spec = dense(-1);
  spec.a_type = spec.b_type = Scalar::kFloat8E4M3;
  spec.sums = Sums::kFastFloat8;
  spec.scales = Scales::kVectors;
  spec.b_scale = 2;
  spec.residual = 3;
  spec.n = kColumns;
  spec.k = kTerms;
  EXPECT_EQ(ones_for(spec), kMostRowsWithOnes);
  alignas(16) std::uint8_t x[kRows * kTerms], w[kColumns * kTerms];
  alignas(16) float scales[kColumns], r[kRows * kColumns], y[kRows * kColumns] = {};
  alignas(16) float ones[kOnes];
  std::fill_n(ones, kOnes, 1.0f);
  std::fill_n(w, kColumns * kTerms, std::uint8_t{0x38});                              // 1
  for (int i = 0; i < kRows * kTerms; ++i) x[i] = i / kTerms % 2 == 0 ? 0x38 : 0x40;  // 1 or 2
  for (int i = 0; i < kColumns; ++i) scales[i] = static_cast<float>(i);
  for (int i = 0; i < kRows * kColumns; ++i) r[i] = static_cast<float>(i);
  std::int64_t shapes[5][2] = {
      {kRows, kTerms}, {kColumns, kTerms}, {kColumns, 1}, {kRows, kColumns}, {kRows, kColumns}};
  void* data[5] = {x, w, scales, r, y};
  tessera_tensor tensors[5] = {}, *pointers[5];
  for (int i = 0; i < 5; ++i) {
    tensors[i] = {data[i], {TESSERA_CPU, 0}, 2, {2, 32, 1}, shapes[i], nullptr, 0};
    pointers[i] = &tensors[i];
  }
  OpenedLibrary opened;
  Library library = opened.get();
  library.ones = ones;
  library.ones_count = kOnes;
  CallSite site(library, spec);
  TextBuffer error;
  ASSERT_TRUE(site.create(&error)) << error.text();
  alignas(64) char workspace[4096 + 256];
  tessera_call call = {};
  call.workspace = workspace;
  const auto now = testing::fake_function<std::uint64_t()>("fake_cublaslt_now_ns");
  const std::uint64_t begin = now();
  ASSERT_TRUE(site.run(call, pointers, 5, &error)) << error.text();
  EXPECT_EQ(static_cast<double>(now() - begin) * 1e-3, 3 * kFirstUs);
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
    const auto sum = static_cast<float>(kTerms * (i / kColumns % 2 == 0 ? 1 : 2));
    EXPECT_EQ(y[i], sum * static_cast<float>(i % kColumns) + static_cast<float>(i)) << i;
  }
}

TEST_F(CallSiteTest, OnesAreAsManyAsTheOtherSideHas) {
  Spec spec = dense(5);
  EXPECT_EQ(ones_for(spec), 0);
  spec.scales = Scales::kNumbers;
  EXPECT_EQ(ones_for(spec), 0);
  spec.scales = Scales::kVectors;
  spec.a_scale = 2;
  EXPECT_EQ(ones_for(spec), spec.n);
  spec.b_scale = 3;
  EXPECT_EQ(ones_for(spec), 0);
  spec.a_scale = -1;
  EXPECT_EQ(ones_for(spec), 5);
}

TEST_F(CallSiteTest, WithoutAnAlgorithmThereIsASentence) {
  const testing::Setting setting("FAKE_CUBLASLT_LACKS", "1");
  library_ = std::make_unique<OpenedLibrary>();
  CallSite made(library_->get(), dense(5));
  TextBuffer error;
  EXPECT_FALSE(made.create(&error));
  EXPECT_STREQ(error.text(), "cublasLt has no algorithm: it is not supported");
}

TEST(Specs, AreReadAsTheyAreWritten) {
  Spec spec = with_algorithm(dense(-1), 0xfedcba9876543210);
  spec.algorithm[7] = 3;
  spec.alpha = 0.1f;
  spec.activation = Activation::kGelu;
  spec.scales = Scales::kVectors;
  spec.a_type = Scalar::kFloat8E5M2;
  char text[kSpecBytes], again[kSpecBytes];
  const std::size_t length = write_spec(spec, text);
  Spec read;
  TextBuffer error;
  ASSERT_TRUE(read_spec(text, length, &read, &error)) << error.text();
  write_spec(read, again);
  EXPECT_STREQ(again, text);
  EXPECT_EQ(read.alpha, 0.1f);
  for (const char* bad : {"m=", "m=1x", "size=3", "m", "activation=swish", "algorithm=12"}) {
    TextBuffer why;
    EXPECT_FALSE(read_spec(bad, std::strlen(bad), &read, &why)) << bad;
  }
  const std::string longest(kSpecBytes, ' ');
  EXPECT_FALSE(read_spec(longest.data(), longest.size(), &read, &error));
}

}  // namespace
}  // namespace tessera::backends::cublas
