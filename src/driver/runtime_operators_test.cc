// SPDX-License-Identifier: Apache-2.0
// Operators that the runtime computes, in models for a GPU: they read memory of the host.
#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "plan/device.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class RuntimeOperators : public testing::ModelTest {
 protected:
  Module placed_on_gpu(const std::string& text) {
    CompileOptions o = options(text);
    o.targets = {value_of(parse_target("cuda"))};
    return value_of(place_model(o)).module;
  }
};

// Whose memory is told to the runtime, which copies what lies on the device.
TEST_F(RuntimeOperators, AreOfTheHost) {
  for (const char* text :
       {"def @main(%x: Tensor[(?n), float32]) { argwhere(%x) }",
        "def @main(%x: Tensor[(4, 5000), float32]) { sort(%x, axis=1) }",
        "def @main(%x: Tensor[(4, 5000), float32]) { argsort(nn.relu(%x), axis=1) }"}) {
    const Module module = placed_on_gpu(text);
    std::size_t found = 0;
    for (const auto& [symbol, e] : module.externs) {
      if (e.backend != "runtime") continue;
      ++found;
      EXPECT_TRUE(plan::computes_on_cpu(module, symbol)) << text;
    }
    EXPECT_EQ(found, 1U) << text;
  }
}

}  // namespace
}  // namespace tessera::driver
