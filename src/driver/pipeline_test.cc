// SPDX-License-Identifier: Apache-2.0
// Which passes the targets ask for.
#include "driver/pipeline.h"

#include <gtest/gtest.h>

#include "backends/table.h"
#include "driver/lack_of.h"
#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "module/text.h"
#include "support/files.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class Pipeline : public testing::ModelTest {
 protected:
  std::string optimized(const std::string& text, const std::vector<std::string>& targets) {
    CompileOptions o;
    o.model = folder_.file("m.relay");
    o.targets = value_of(parse_targets(targets));
    EXPECT_TRUE(write_atomically(o.model, "#[version = \"0.0.5\"]\n" + text));
    std::vector<Diagnostic> warnings;
    return print(value_of(optimize_graph(value_of(load_model(o.model, {})), o, warnings)));
  }
};

TEST_F(Pipeline, IntegersStayNarrowWhereABackEndMultipliesThem) {
  const std::string model =
      "def @main(%x: Tensor[(64, 64), int8], %w: Tensor[(64, 64), int8]) {\n"
      "  nn.dense(cast(%x, dtype=\"int32\"), cast(%w, dtype=\"int32\"), units=64)\n}\n";
  const auto is_narrow = [&](const std::vector<std::string>& targets) {
    return optimized(model, targets).find("out_dtype=\"int32\"") != std::string::npos;
  };
  EXPECT_FALSE(is_narrow({"cpu"}));
  EXPECT_FALSE(is_narrow({"cuda"}));
  const byoc::Backend* cutlass = backends::find_backend("cutlass");
  ASSERT_NE(cutlass, nullptr);
  EXPECT_EQ(is_narrow({"cuda", "cutlass"}), !lack_of(*cutlass, Target("cutlass")));
}

}  // namespace
}  // namespace tessera::driver
