// SPDX-License-Identifier: Apache-2.0
// 2.4 GB of weights from the model to a run: more than relocations of 32 bits reach, and more than
// anyone wants to be read twice.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/command.h"
#include "tests/e2e/whole_model.h"

namespace tessera::e2e {
namespace {

using Json = nlohmann::json;

TEST(LargeModel, CompilesLoadsAndRuns) {
  Command command;
  run_python({TESSERA_SOURCE_DIR "/tests/large_model/make_model.py", command.folder()});
  const ProcessResult compiled = command.run({"compile", "model.onnx", "-o", "model.so", "--json"});
  ASSERT_TRUE(compiled.ok()) << compiled.outcome() << "\n" << compiled.err;
  const Json report = Json::parse(compiled.out);
  EXPECT_GE(report["weight_bytes"].get<double>(), 2.4e9);
  EXPECT_LE(report["peak_bytes"].get<double>(), 1.3 * 2.4e9 + 300e6);
  EXPECT_LE(report["library_bytes"].get<double>(), 1.01 * 2.4e9);

  const ProcessResult bench = command.run({"bench", "model.so", "--seconds", "0", "--json"});
  ASSERT_TRUE(bench.ok()) << bench.err;
  EXPECT_LT(Json::parse(bench.out)["load_us"].get<double>(), 1e6) << bench.out;

  const ProcessResult ran =
      command.run({"run", "model.so", "--inputs", "inputs", "--outputs", "found"});
  ASSERT_TRUE(ran.ok()) << ran.err;
  EXPECT_LE(largest_difference(command.file("found"), command.file("outputs")), 1e-4);
}

}  // namespace
}  // namespace tessera::e2e
