// SPDX-License-Identifier: Apache-2.0
// Constant operands of products, packed when compiling: products equal eval, whatever the order of
// the operand, with columns that fill no block, and with bytes that lie where a file has them.
#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "schedule/schedule.h"
#include "tir/print.h"
#include "tir/verify.h"

namespace tessera::schedule {
namespace {

namespace run = lower::testing;

class PackedConstants : public ::testing::TestWithParam<const char*> {};

TEST_P(PackedConstants, EqualEval) {
  const relay::Function f = run::function_of(GetParam());
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  const auto plain = lower::lower_primitive(f, relay::Function::kBody, {});
  ASSERT_TRUE(plain.has_value());
  const Machine machine{64, 32, 128 << 10, 25000, 0, 2, 2};
  const ScheduledKernel s = schedule_kernel(*plain, machine, {plain->inputs[1]});
  const std::string text = tir::print(s.kernel, "kernel");
  ASSERT_TRUE(tir::verify(s.kernel, "kernel").has_value()) << text;
  ASSERT_EQ(s.made.size(), 1u) << text;
  EXPECT_NE(text.find("packed when compiling"), text.npos) << text;
  ASSERT_EQ(s.kernel.inputs.size(), 2u) << "the operand itself is read no more";
  // At an odd address.
  const auto bytes = inputs[1].blob->bytes();
  std::vector<std::byte> file(1);
  file.insert(file.end(), bytes.begin(), bytes.end());
  const Tensor weight(inputs[1].shape, inputs[1].dtype,
                      Blob::slice(Blob::adopt(std::move(file)), 1, bytes.size()));
  const std::vector<Tensor> given{inputs[0], *s.made[0].make(weight)};
  run::expect_close(run::evaluated(f, inputs), run::interpreted(s.kernel, given), text);
}

INSTANTIATE_TEST_SUITE_P(
    All, PackedConstants,
    ::testing::Values("nn.dense(float32[13,40], float32[50,40], units=50)",
                      "nn.dense(float32[40,12], float32[600,12], units=600)",
                      "nn.matmul(float32[37,29], float32[29,600], units=600)",
                      "nn.dense(float64[13,40], float64[50,40], units=50)",
                      // A vector, whose matrix is read in order then; and few rows.
                      "nn.dense(float32[1,300], float32[50,300], units=50)",
                      "nn.matmul(float32[1,300], float32[300,601], units=601)",
                      "nn.matmul(float64[1,300], float64[300,700], units=700)",
                      "nn.matmul(float16[1,300], float16[300,700], units=700)",
                      "nn.matmul(bfloat16[1,300], bfloat16[300,700], units=700)",
                      "nn.dense(int16[1,300], int16[50,300], units=50, out_dtype=\"int32\")",
                      "nn.batch_matmul(float32[3,1,300], float32[3,300,360])",
                      "nn.matmul(float32[5,260], float32[260,264], units=264)",
                      // Rows that vectors would suit, of a matrix whose rows are far apart.
                      "nn.matmul(float32[16,384], float32[384,696], units=696)",
                      // By pairs, and an odd number of terms.
                      "nn.dense(bfloat16[13,40], bfloat16[50,40], units=50)",
                      "nn.matmul(bfloat16[37,46], bfloat16[46,600], units=600)",
                      "nn.dense(bfloat16[13,41], bfloat16[50,41], units=50)",
                      "nn.dense(int16[13,40], int16[50,40], units=50, out_dtype=\"int32\")",
                      "nn.dense(float16[13,40], float16[50,40], units=50)",
                      "nn.conv2d(float32[2,16,15,17], float32[70,16,3,3], strides=[2,2])",
                      "nn.conv2d(int16[2,16,15,17], int16[70,16,3,3], strides=[2,2], "
                      "out_dtype=\"int32\")",
                      "nn.batch_matmul(float32[3,20,16], float32[3,36,16], transpose_b=True)"));

}  // namespace
}  // namespace tessera::schedule
