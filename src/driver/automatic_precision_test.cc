// SPDX-License-Identifier: Apache-2.0
#include "driver/automatic_precision.h"

#include <gtest/gtest.h>

#include "backends/table.h"
#include "driver/placement.h"
#include "driver/testing/model_test.h"
#include "link/library_file.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class AutomaticPrecisionTest : public testing::ModelTest {
 protected:
  CompileOptions model() {
    CompileOptions o = options(
        "def @main(%x: Tensor[(?n, 64), float32], %w: Tensor[(64, 64), float32]) {\n"
        "  nn.dense(nn.relu(nn.dense(%x, %w, units=64)), %w, units=64)\n}\n");
    o.output = folder_.file("model.so");
    o.targets.emplace_back("onednn");
    o.dims = {{"n", 5, {}}};
    return o;
  }
  static std::string metadata_of(const CompileOptions& o) {
    return value_of(link::read_library_file(o.output)).metadata;
  }
};

TEST_F(AutomaticPrecisionTest, IsTheTypeThatIsExactEnough) {
  const CompileOptions o = model();
  if (types_to_try(o).empty()) GTEST_SKIP() << "no kernels of 16 bits here";
  const CompileReport report = value_of(compile_within_error(o, {.max_error = 0.05}));
  ASSERT_EQ(report.tried.size(), 1U);
  EXPECT_TRUE(report.tried[0].is_chosen);
  EXPECT_GT(report.tried[0].errors.at(0).relative, 1e-4);
  EXPECT_LE(report.tried[0].errors.at(0).relative, 0.05);
  EXPECT_NE(metadata_of(o).find("\"precision\":\"" + to_string(report.tried[0].dtype) + "\""),
            std::string::npos);
}

TEST_F(AutomaticPrecisionTest, IsFloat32WhereNoneIs) {
  const CompileOptions o = model();
  const std::size_t types = types_to_try(o).size();
  const CompileReport report = value_of(compile_within_error(o, {.max_error = 1e-5}));
  ASSERT_EQ(report.tried.size(), types);
  for (const TriedPrecision& tried : report.tried) EXPECT_FALSE(tried.is_chosen);
  EXPECT_FALSE(report.precision);
  EXPECT_EQ(metadata_of(o).find("\"precision\""), std::string::npos);
}

TEST_F(AutomaticPrecisionTest, IsJudgedByTheInputsThatAreGiven) {
  const CompileOptions o = model();
  if (types_to_try(o).empty()) GTEST_SKIP() << "no kernels of 16 bits here";
  const auto zeros = [](exec::Session& session) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> inputs;
    for (const exec::PortInfo& port : session.inputs()) {
      inputs.push_back(tensor_from_ints({port.shape[0] < 0 ? 3 : port.shape[0], 64}, kFloat32,
                                        std::vector<std::int64_t>(static_cast<std::size_t>(
                                            64 * (port.shape[0] < 0 ? 3 : port.shape[0])))));
    }
    return inputs;
  };
  const CompileReport report = value_of(compile_within_error(o, {0, zeros}));
  ASSERT_EQ(report.tried.size(), 1U);
  EXPECT_TRUE(report.tried[0].is_chosen);
  EXPECT_EQ(report.tried[0].errors.at(0).largest, 0);
}

TEST_F(AutomaticPrecisionTest, TriesNothingThatNothingHasKernelsOf) {
  CompileOptions o = model();
  o.targets = {Target("cpu"), Target("blas")};
  EXPECT_TRUE(types_to_try(o).empty());
  const CompileReport report = value_of(compile_within_error(o, {.max_error = 1}));
  EXPECT_TRUE(report.tried.empty());
  EXPECT_TRUE(report.types_left.empty());
}

// The summary tells of them.
TEST_F(AutomaticPrecisionTest, TypesThatAreLeftAreReported) {
  CompileOptions o = model();
  EXPECT_EQ(value_of(compile(o, {})).types_left, types_to_try(o));
  o.targets.pop_back();
  EXPECT_TRUE(value_of(compile(o, {})).types_left.empty());
}

}  // namespace
}  // namespace tessera::driver
