// SPDX-License-Identifier: Apache-2.0
// Every sample of every operator, lowered to loops and interpreted, gives what `eval` gives.
#include "lower/primitive.h"

#include "lower/testing/kernel_run.h"
#include "ops/records/table.h"
#include "tir/print.h"

namespace tessera::lower {
namespace {

class LoweredSamples : public ::testing::TestWithParam<const relay::Operator*> {};

TEST_P(LoweredSamples, EqualEval) {
  if (GetParam()->compute == nullptr) GTEST_SKIP() << "no loop definition";
  for (std::string_view text : GetParam()->samples) {
    const ops::Sample sample = ops::parse_sample(text);
    const auto kernel = lower_primitive(sample.function, relay::Function::kBody, {});
    ASSERT_TRUE(kernel.has_value()) << text;
    const std::vector<Tensor> inputs = ops::random_inputs(sample, 1);
    testing::expect_close(testing::evaluated(sample.function, inputs),
                          testing::interpreted(*kernel, inputs),
                          std::string(text) + "\n" + tir::print(*kernel, "kernel"));
  }
}

std::string test_name(const ::testing::TestParamInfo<const relay::Operator*>& info) {
  std::string name(info.param->name);
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, LoweredSamples,
                         ::testing::ValuesIn(ops::operators().all().begin(),
                                             ops::operators().all().end()),
                         test_name);

}  // namespace
}  // namespace tessera::lower
