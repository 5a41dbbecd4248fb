// SPDX-License-Identifier: Apache-2.0
#include "driver/cold_weights.h"

#include <gtest/gtest.h>

#include "driver/entry_file.h"
#include "driver/pipeline.h"
#include "driver/testing/model_test.h"
#include "emit/host.h"
#include "exec/session.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/function_attributes.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class ColdWeightsTest : public testing::ModelTest {
 protected:
  // x + w, of so many numbers.
  static relay::Function sum(std::int64_t count, double value, ConstantPool& pool) {
    relay::FunctionBuilder b;
    const relay::NodeId x = b.param("x", tensor_type({Dim(count)}, kFloat32));
    const std::vector<double> numbers(static_cast<std::size_t>(count), value);
    const ConstantIndex w = pool.add(tensor_from_doubles({count}, kFloat32, numbers));
    relay::Function f = b.finish(b.call(ops::op("add"), {x, b.constant(w)}));
    f.attrs.set(std::string(relay::kEntryPoint), 1);
    return f;
  }

  // Sums of 1000 and of 3000 numbers.
  EntryFile file() {
    auto toolchain =
        value_of(link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = ""}));
    CompileOptions options;
    options.targets = {Target()};
    Module module;
    module.targets = options.targets;
    module.functions.emplace("few", sum(1000, 1, module.constants));
    module.functions.emplace("many", sum(3000, 2, module.constants));
    std::vector<Diagnostic> warnings;
    module =
        value_of(prepare_native(value_of(ops::infer_types(std::move(module))), options, warnings));
    return value_of(EntryFile::build(std::move(module), Target(),
                                     value_of(machine_code(Target(), toolchain.compiler())),
                                     toolchain));
  }
};

TEST_F(ColdWeightsTest, AreThoseOfAProgramAlone) {
  const EntryFile both = file();
  const LibraryProgram few = both.programs().at("few"), many = both.programs().at("many");
  EXPECT_EQ(ColdWeights::of(few).bytes(), 0u) << "before it is loaded";
  EXPECT_EQ(weight_bytes(few), 4000u);
  EXPECT_EQ(weight_bytes(many), 12000u);
  EXPECT_EQ(weight_bytes({many.library}), 0u);
  EXPECT_EQ(weight_bytes({"nothing.so", "few"}), 0u);
  const auto session =
      value_of(exec::Session::open_library(many.library, {}, emit::create_function("many")));
  EXPECT_EQ(ColdWeights::of(few).bytes(), 4000u);
  EXPECT_EQ(ColdWeights::of(many).bytes(), 12000u);
  EXPECT_EQ(ColdWeights::of({many.library}).bytes(), 0u) << "a whole model";

  const std::vector<Tensor> x = {random_input(session->inputs().at(0), 1)};
  const std::vector<Tensor> before = value_of(session->run(x));
  ColdWeights::of(many).evict();
  const std::vector<Tensor> after = value_of(session->run(x));
  EXPECT_TRUE(std::ranges::equal(before.at(0).blob->bytes(), after.at(0).blob->bytes()));
}

TEST(CopiesOfWeights, AreMoreThanACacheHolds) {
  constexpr std::uint64_t kMiB = 1 << 20, kCache = 60 * kMiB;
  EXPECT_EQ(copies_beyond(kCache, 8 * kMiB), 12);
  EXPECT_EQ(copies_beyond(kCache, 60 * kMiB), 2);
  EXPECT_EQ(copies_beyond(kCache, 90 * kMiB), 1) << "the last ones take the place of the first";
  EXPECT_EQ(copies_beyond(kCache, 2 * kMiB), 32) << "no more is computed in a row";
  EXPECT_EQ(copies_beyond(kCache, kMiB), 1) << "all copies would stay in the cache";
  EXPECT_EQ(copies_beyond(kCache, 0), 1);
}

TEST(CopiesOfWeights, TakeTurnsAcrossRuns) {
  EXPECT_EQ(runs_over_all(1, 8), 8);
  EXPECT_EQ(runs_over_all(4, 8), 8);
  EXPECT_EQ(runs_over_all(6, 8), 12);
  EXPECT_EQ(runs_over_all(7, 8), 14);
  EXPECT_EQ(runs_over_all(32, 8), 32);
}

}  // namespace
}  // namespace tessera::driver
