// SPDX-License-Identifier: Apache-2.0
// Every sample of every operator, lowered, scheduled and interpreted, gives what `eval` gives.
#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "ops/records/table.h"
#include "schedule/device.h"
#include "schedule/schedule.h"
#include "tir/print.h"
#include "tir/verify.h"

namespace tessera::schedule {
namespace {

// One with AVX-512, and one for which everything is worth a thread.
const Machine kMachines[] = {{64, 32, 128 << 10, 25000}, {16, 16, 1 << 10, 0}};

// The usual one, and one that is busy with the smallest kernel.
const Device kDevices[] = {{}, {1}};

class ScheduledSamples : public ::testing::TestWithParam<const relay::Operator*> {};

TEST_P(ScheduledSamples, EqualEval) {
  if (GetParam()->compute == nullptr) GTEST_SKIP() << "no loop definition";
  for (std::string_view text : GetParam()->samples) {
    const ops::Sample sample = ops::parse_sample(text);
    const auto plain = lower::lower_primitive(sample.function, relay::Function::kBody, {});
    ASSERT_TRUE(plain.has_value()) << text;
    for (const Machine& machine : kMachines) {
      const tir::PrimFunc kernel = schedule_kernel(*plain, machine);
      const std::vector<Tensor> inputs = ops::random_inputs(sample, 1);
      lower::testing::expect_close(lower::testing::evaluated(sample.function, inputs),
                                   lower::testing::interpreted(kernel, inputs),
                                   std::string(text) + "\n" + tir::print(kernel, "kernel"));
    }
    for (const Device& device : kDevices) {
      const tir::PrimFunc kernel = schedule_device_kernel(*plain, device);
      const std::vector<Tensor> inputs = ops::random_inputs(sample, 1);
      const std::string shown = std::string(text) + "\n" + tir::print(kernel, "kernel");
      const auto valid = tir::verify(kernel, "kernel");
      ASSERT_TRUE(valid.has_value()) << render(valid.error()) << shown;
      lower::testing::expect_close(lower::testing::evaluated(sample.function, inputs),
                                   lower::testing::interpreted(kernel, inputs), shown);
    }
  }
}

std::string test_name(const ::testing::TestParamInfo<const relay::Operator*>& info) {
  std::string name(info.param->name);
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ScheduledSamples,
                         ::testing::ValuesIn(ops::operators().all().begin(),
                                             ops::operators().all().end()),
                         test_name);

}  // namespace
}  // namespace tessera::schedule
