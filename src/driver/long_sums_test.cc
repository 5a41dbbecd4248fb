// SPDX-License-Identifier: Apache-2.0
// Sums of integers beyond 2^24, which float32 rounds: those of a back end that goes on in float32
// are the operators' to the last bit where they become float32 at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/table.h"
#include "driver/compile.h"
#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "ops/evaluation/evaluate_function.h"
#include "relay/text/metadata.h"
#include "support/testing/requirement.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class LongSums : public testing::ModelTest {
 protected:
  // Weights of 90 to 127: sums are up to 138 million.
  CompileOptions model_of(int rows, const std::string& wide, const char* after) {
    std::vector<std::int8_t> weights(std::size_t{48} * 4608);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<std::int8_t>(90 + i * 7919 % 38);
    }
    const Tensor w = Tensor::of({48, 4608}, kInt8, weights);
    CompileOptions o = options(
        fmt::format(
            "def @main(%x: Tensor[({}, 4608), uint8]) {{\n"
            "  %0 = {};\n"
            "  %1 = nn.dense(%0, cast(meta[relay.Constant][0], dtype=\"int32\"), units=48);\n"
            "  {}\n}}\n#[metadata]\n",
            rows, wide, after) +
        relay::metadata_json({w}) + "\n");
    o.targets.emplace_back("onednn");
    o.output = folder_.file(fmt::format("{}.so", models_++));
    return o;
  }

  static Tensor image_of(std::int64_t rows) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows) * 4608);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(128 + i * 104729 % 128);
    }
    return Tensor::of({rows, 4608}, kUInt8, bytes);
  }

  int models_ = 0;
};

TEST_F(LongSums, AreRoundedAsTheCastRoundsThem) {
  if (backends::find_backend("onednn")->available(Target("onednn"))) {
    (void)::tessera::testing::is_there("onednn", false);
    GTEST_SKIP() << "no onednn here";
  }
  const std::string wide = "cast(%x, dtype=\"int32\")", less = "subtract(" + wide + ", 3)";
  for (const int rows : {4, 40}) {  // fewer than AMX is used for, and more
    for (const std::string& data : {wide, less}) {
      for (const char* after : {"multiply(cast(%1, dtype=\"float32\"), 0.37f)", "add(%1, 1)"}) {
        const CompileOptions o = model_of(rows, data, after);
        value_of(compile(o, {}));
        const auto session = value_of(exec::Session::open_library(o.output, {}));
        const Module module = value_of(load_model(o.model, {}));
        const std::vector<Tensor> inputs = {image_of(rows)};
        const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
        EXPECT_TRUE(value_of(session->run(inputs))[0] == wanted[0])
            << rows << " rows, " << data << ", " << after;
        EXPECT_GT(element_as_double(wanted[0], 0), 2e7) << "no sums that float32 rounds";
      }
    }
  }
}

}  // namespace
}  // namespace tessera::driver
