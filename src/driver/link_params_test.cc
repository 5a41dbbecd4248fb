// SPDX-License-Identifier: Apache-2.0
// --link-params, on and off, in both executors: the same numbers, and constants that are stored
// once.
#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "relay/text/metadata.h"

namespace tessera::driver {
namespace {

using testing::ModelTest;
using testing::value_of;

class LinkParamsTest : public ModelTest {};

// Two products with one matrix, and one with another.
constexpr const char* kLinkedModel = R"(
def @main(%x: Tensor[(3, 4), float32]) {
  %0 = nn.dense(%x, meta[relay.Constant][0], units=4);
  %1 = nn.relu(%0);
  %2 = nn.dense(%1, meta[relay.Constant][0], units=4);
  nn.dense(%2, meta[relay.Constant][1], units=2)
}
#[metadata]
)";

std::string metadata() {
  const auto numbers = [](std::int64_t rows, double first) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < rows * 4; ++i) values.push_back(first + 0.25 * double(i % 7));
    return tensor_from_doubles({rows, 4}, kFloat32, values);
  };
  return relay::metadata_json({numbers(4, -0.5), numbers(2, 0.125)});
}

TEST_F(LinkParamsTest, BothExecutorsComputeTheSameWithAndWithout) {
  CompileOptions o = options(kLinkedModel + metadata() + "\n");
  const Tensor x = exec::random_input({"x", kFloat32, {3, 4}}, 1);
  std::vector<Tensor> results;
  std::vector<std::uint64_t> bytes;
  for (const bool linked : {false, true}) {
    o.link_params = linked;
    o.output = new_library();
    bytes.push_back(value_of(compile(o)).weight_bytes);
    const auto library = value_of(exec::Session::open_library(o.output, {.threads = 1}));
    const auto in_process = value_of(prepare_in_process(o, {.threads = 1}));
    for (exec::Session* session : {library.get(), in_process.get()}) {
      results.push_back(value_of(session->run(std::vector{x})).at(0));
    }
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_LT(bytes[0], 3 * 64u) << "two constants of 64 bytes at most, once each";
  for (const Tensor& result : results) EXPECT_TRUE(result == results[0]);
}

}  // namespace
}  // namespace tessera::driver
