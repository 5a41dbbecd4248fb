// SPDX-License-Identifier: Apache-2.0
// What happens at run time: sizes that are open, algorithms of another version.
#include "backends/cublas/runtime/call_site.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cublas/testing/fake.h"

namespace tessera::backends::cublas {
namespace {

Spec dense(std::int64_t m) {
  Spec spec;
  spec.factors = spec.result = Scalar::kFloat32;
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
