// SPDX-License-Identifier: Apache-2.0
// Algorithms of generated code, measured and chosen: from the model to the library.
#include "driver/native_algorithms.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "driver/compile.h"
#include "driver/device_of_costs.h"
#include "driver/testing/collage_test.h"
#include "relay/text/metadata.h"

namespace tessera::driver {
namespace {

using testing::CollageTest;
using testing::value_of;

constexpr const char* kWork = "conv2d 3x3 float32 images=1 in=32 out=32 rows=20 columns=20";

// One convolution of 3 by 3 whose weight is a constant, twice.
std::string two_convolutions() {
  const Tensor weight = exec::random_input({"w", kFloat32, {32, 32, 3, 3}}, 3);
  const auto conv = [](const char* of) {
    return fmt::format(
        "nn.conv2d({}, meta[relay.Constant][0], padding=[1, 1, 1, 1], channels=32, "
        "kernel_size=[3, 3])",
        of);
  };
  return fmt::format(
      "def @main(%x: Tensor[(1, 32, 20, 20), float32]) {{\n  %0 = {};\n  %1 = nn.relu(%0);\n"
      "  {}\n}}\n#[metadata]\n{}\n",
      conv("%x"), conv("%1"), relay::metadata_json({weight}));
}

class NativeAlgorithms : public CollageTest {
 protected:
  NativeAlgorithms() : options_(options(two_convolutions())) {
    options_.records = folder_.file("r.db");
    options_.threads = 1;
    options_.reproducible = true;
  }
  std::vector<tune::Record> records() const {
    std::vector<tune::Record> found;
    const auto store = value_of(tune::RecordStore::open(options_.records));
    for (tune::Record& r : value_of(store.all()).list) {
      if (r.key.backend == kNativeAlgorithms) found.push_back(std::move(r));
    }
    return found;
  }
  // That the algorithm takes next to no time.
  void say_fastest(const std::string& algorithm) const {
    auto store = value_of(tune::RecordStore::open(options_.records));
    for (tune::Record r : records()) {
      r.time_us = r.configuration == algorithm ? 1 : 1000;
      ASSERT_TRUE(store.replace(r));
    }
  }
  // The loops of a library that is compiled now.
  std::string loops(const CompileOptions& given) {
    CompileOptions o = given;
    o.output = new_library();
    o.dump_dir = folder_.file("dumped");
    value_of(compile(o));
    return *read_file(o.dump_dir + "/loops.tir");
  }
  static bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  CompileOptions options_;
};

TEST_F(NativeAlgorithms, AreMeasuredOnce) {
  const CompileReport first = value_of(tune(options_));
  ASSERT_EQ(first.tuned.size(), 1u);
  EXPECT_EQ(first.tuned[0].title, kWork);
  EXPECT_EQ(first.tuned[0].uses, 2u);
  EXPECT_EQ(first.tuned[0].measured, 3u);
  EXPECT_EQ(first.tuned[0].failed, 0u);
  ASSERT_TRUE(first.tuned[0].best && first.tuned[0].first_record);
  EXPECT_LE(first.tuned[0].best->time_us, first.tuned[0].first_record->time_us);
  EXPECT_EQ(records().size(), 3u);
  const CompileReport again = value_of(tune(options_));
  ASSERT_EQ(again.tuned.size(), 1u);
  EXPECT_EQ(again.tuned[0].measured, 0u);
  EXPECT_EQ(again.tuned[0].known, 3u);
  ASSERT_TRUE(again.tuned[0].best);
  EXPECT_TRUE(*again.tuned[0].best == *first.tuned[0].best);
}

TEST_F(NativeAlgorithms, AreTakenFromTheRecords) {
  value_of(tune(options_));
  const std::vector<Tensor> wanted = native_outputs(two_convolutions());
  for (const auto& [algorithm, is_named] :
       {std::pair("direct", ""), std::pair("winograd_2x2", "\"winograd 2x2"),
        std::pair("winograd_4x4", "\"winograd 4x4")}) {
    say_fastest(algorithm);
    CompileOptions o = options_;
    o.output = new_library();
    const std::string text = loops(o);
    EXPECT_EQ(contains(text, "winograd"), *is_named != '\0') << algorithm;
    EXPECT_TRUE(contains(text, is_named)) << algorithm;
    const CompileReport report = value_of(compile(o));
    for (const Diagnostic& w : report.warnings) {
      EXPECT_FALSE(contains(w.message, "has no effect")) << w.message;
    }
    expect_close(outputs_of(o.output), wanted);
    const std::string bytes = bytes_of(o.output);
    value_of(compile(o));
    EXPECT_TRUE(bytes == bytes_of(o.output)) << "equal records, equal bytes";
  }
}

// Records of another machine, or of other threads, say nothing here.
TEST_F(NativeAlgorithms, AreThoseOfThisMachine) {
  value_of(tune(options_));
  const std::string by_rule = loops(options(two_convolutions()));
  say_fastest(contains(by_rule, "winograd") ? "direct" : "winograd_2x2");
  CompileOptions other = options_;
  other.threads = 2;
  EXPECT_EQ(loops(other), by_rule);
  EXPECT_NE(loops(options_), by_rule);
  const auto warns = [](const CompileReport& report) {
    return std::ranges::any_of(report.warnings, [](const Diagnostic& w) {
      return contains(w.message, "nothing of this machine for 1 of 1 kinds of work");
    });
  };
  EXPECT_TRUE(warns(value_of(compile(other))));
  EXPECT_FALSE(warns(value_of(compile(options_))));
}

TEST_F(NativeAlgorithms, AreMeasuredWhileCompiling) {
  CompileOptions o = options_;
  o.tuning.measures = true;
  const CompileReport report = value_of(compile(o));
  ASSERT_EQ(report.tuned.size(), 1u);
  EXPECT_EQ(report.tuned[0].measured, 3u);
  ASSERT_TRUE(report.tuned[0].best);
  const bool is_direct = report.tuned[0].best->configuration == schedule::kDirect;
  EXPECT_EQ(contains(loops(options_), "winograd"), !is_direct);
  expect_close(outputs_of(o.output), native_outputs(two_convolutions()));
}

// Where nothing can be chosen, no file is made.
TEST_F(NativeAlgorithms, AreNotMeasuredWhereTheTargetSaysWhich) {
  options_.targets.assign(1, Target().with("winograd", "2"));
  EXPECT_TRUE(value_of(tune(options_)).tuned.empty());
  EXPECT_FALSE(std::filesystem::exists(options_.records));
}

// An empty file is one without records, as of whoever makes its name first.
TEST_F(NativeAlgorithms, AreMeasuredIntoAnEmptyFile) {
  ASSERT_TRUE(write_atomically(options_.records, ""));
  CompileOptions o = options_;
  o.tuning.measures = true;
  value_of(compile(o));
  EXPECT_EQ(records().size(), 3u);
}

// One that does not compile costs itself, for good.
TEST_F(NativeAlgorithms, AreOutWhereTheyDoNotCompile) {
  const std::string compiler = folder_.file("cxx");
  ASSERT_TRUE(write_atomically(
      compiler,
      "#!/bin/sh\nfor f in \"$@\"; do\n  case \"$f\" in *.cc) if grep -q tile_row \"$f\"; then\n"
      "    echo 'kernels.cc:1:2: error: no such tiles' >&2; exit 1; fi;; esac\ndone\n"
      "exec c++ \"$@\"\n"));
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  ::setenv("CXX", compiler.c_str(), 1);
  const Result<CompileReport> first = tune(options_), again = tune(options_);
  ::unsetenv("CXX");
  const CompileReport report = value_of(first);
  ASSERT_EQ(report.tuned.size(), 1u);
  EXPECT_EQ(report.tuned[0].measured, 1u);
  EXPECT_EQ(report.tuned[0].failed, 2u);
  ASSERT_TRUE(report.tuned[0].best);
  EXPECT_EQ(report.tuned[0].best->configuration, schedule::kDirect);
  int failures = 0;
  for (const tune::Record& r : records()) failures += r.failure.starts_with(tune::kNotCompiled);
  EXPECT_EQ(failures, 2);
  EXPECT_EQ(value_of(again).tuned.at(0).known, 3u);
}

// They are what generated code costs: measured before its candidates are.
TEST_F(NativeAlgorithms, AreCandidatesOfMeasuredPlacement) {
  CompileOptions o = collage(two_convolutions());
  o.records = options_.records;
  const CompileReport report = value_of(compile(o));
  ASSERT_TRUE(report.collage);
  EXPECT_EQ(records().size(), 3u);
  for (const tune::Record& r : records()) EXPECT_EQ(r.failure, "") << r.configuration;
  expect_close(outputs_of(o.output), native_outputs(two_convolutions()));
}

// Each plan that races computes so: whichever is written has the weights of the algorithm that is
// fastest by the records.
TEST_F(NativeAlgorithms, AreThoseOfAllPlans) {
  constexpr std::uint64_t kElements = 32 * 32, kSmallBytes = 4096;
  value_of(tune(options_));
  for (const auto& [algorithm, window] :
       {std::pair("direct", 3), std::pair("winograd_2x2", 4), std::pair("winograd_4x4", 6)}) {
    say_fastest(algorithm);
    CompileOptions o = collage(two_convolutions());
    o.records = options_.records;
    o.targets[0] = options_.targets[0];
    const CompileReport report = value_of(compile(o));
    const std::uint64_t bytes = 4 * kElements * static_cast<std::uint64_t>(window * window);
    EXPECT_GE(report.weight_bytes, bytes) << algorithm;
    EXPECT_LT(report.weight_bytes, bytes + kSmallBytes) << algorithm;
  }
}

}  // namespace
}  // namespace tessera::driver
