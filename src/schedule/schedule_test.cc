// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "schedule/device.h"
#include "support/testing/golden.h"
#include "tir/parse.h"
#include "tir/print.h"
#include "tir/verify.h"
#include "tir/verify_bounds.h"

namespace tessera::schedule {
namespace {

namespace run = lower::testing;

const Machine kWide{64, 32, 128 << 10, 25000};            // AVX-512
const Machine kPairs{64, 32, 128 << 10, 25000, 0, 2, 2};  // of bfloat16 and int16
const Machine kUnit{64, 32, 128 << 10, 25000, 0, 2, 2, true};
const Machine kNarrow{16, 16, 1 << 10, 0};  // everything is worth a thread, little stack

tir::PrimFunc lowered(const relay::Function& f) {
  auto plain = lower::lower_primitive(f, relay::Function::kBody, {});
  TESSERA_CHECK(plain.has_value(), "{}", render(plain.error()));
  return *std::move(plain);
}

tir::PrimFunc scheduled(const relay::Function& f, const Machine& machine) {
  return schedule_kernel(lowered(f), machine);
}

// ---- Loops that a text has and lowering does not make -------------------------------------------

// A definition, or a branch, between loops.
TEST(LoopsOfAText, DefinitionsBetweenThemStay) {
  for (const char* between : {"i: T.int64 = ij // 2", "if ij < 5:"}) {
    const bool is_branch = std::string_view(between).starts_with("if");
    const auto f = tir::parse_prim_func(fmt::format(
        "@T.prim_func\ndef k(x: T.Buffer((8, 8), \"float32\"), *, y: T.Buffer((8, 8), "
        "\"float32\")):\n  for ij in T.serial(8):\n    {}\n    {}for j in T.serial(8):\n      "
        "{}y[{}, j] = x[ij, j]\n",
        between, is_branch ? "  " : "", is_branch ? "  " : "", is_branch ? "ij" : "i"));
    ASSERT_TRUE(f.has_value()) << render(f.error());
    const tir::PrimFunc kernel = schedule_kernel(*f, kWide);
    EXPECT_TRUE(tir::verify(kernel, "kernel").has_value()) << tir::print(kernel, "kernel");
  }
}

// ---- Large enough for tiles, blocks, tails and packing ------------------------------------------

// A product of ones is a loop over nothing: neither a map nor a reduction, nor a row.
TEST(DeviceLoops, OfNothing) {
  relay::FunctionBuilder b;
  const relay::NodeId ones = b.call(ops::op("ones"), {}, {{"shape", relay::AttrArray{2, 3}}});
  const auto f =
      ops::infer_types(b.finish(b.call(ops::op("prod"), {ones}, {{"axis", relay::AttrArray{0}}})));
  ASSERT_TRUE(f) << render(f.error());
  const tir::PrimFunc kernel = schedule_device_kernel(lowered(*f));
  const auto valid = tir::verify(kernel, "kernel");
  ASSERT_TRUE(valid.has_value()) << render(valid.error());
  run::expect_close(run::evaluated(*f, {}), run::interpreted(kernel, {}),
                    tir::print(kernel, "kernel"));
}

class LargerKernels : public ::testing::TestWithParam<const char*> {};

TEST_P(LargerKernels, EqualEval) {
  const relay::Function f = run::function_of(GetParam());
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  const std::vector<Tensor> expected = run::evaluated(f, inputs);
  for (const Machine& machine : {kWide, kNarrow, kPairs, kUnit}) {
    const tir::PrimFunc kernel = scheduled(f, machine);
    const std::string text = GetParam() + ("\n" + tir::print(kernel, "kernel"));
    const auto valid = tir::verify(kernel, "kernel");
    ASSERT_TRUE(valid.has_value()) << render(valid.error()) << text;
    run::expect_close(expected, run::interpreted(kernel, inputs), text);
  }
}

TEST_P(LargerKernels, EqualEvalOnDevices) {
  const relay::Function f = run::function_of(GetParam());
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  const tir::PrimFunc kernel = schedule_device_kernel(lowered(f));
  const std::string text = GetParam() + ("\n" + tir::print(kernel, "kernel"));
  const auto valid = tir::verify(kernel, "kernel");
  ASSERT_TRUE(valid.has_value()) << render(valid.error()) << text;
  run::expect_close(run::evaluated(f, inputs), run::interpreted(kernel, inputs), text);
}

INSTANTIATE_TEST_SUITE_P(
    Products, LargerKernels,
    ::testing::Values(
        "nn.dense(float32[13,40], float32[50,40], units=50)",
        "nn.dense(float32[20,12], float32[600,12], units=600)",
        "nn.dense(float32[17,300], float32[32,300], units=32)",
        "nn.matmul(float32[37,29], float32[29,45], units=45)",
        "nn.matmul(float32[33,4], float32[4,1030], units=1030)",
        "nn.matmul(float32[1,256], float32[256,269], units=269)",
        "nn.matmul(float32[12,256], float32[256,264], units=264)",
        "nn.matmul(bfloat16[1,256], bfloat16[256,540], units=540)",
        "nn.dense(float32[5,300], float32[70,300], units=70)",
        "nn.batch_matmul(float32[3,20,16], float32[3,16,36], transpose_b=False)",
        "nn.batch_matmul(float32[3,20,16], float32[3,36,16], transpose_b=True)",
        "nn.batch_matmul(bfloat16[3,20,16], bfloat16[3,16,36], transpose_b=False)",
        "nn.batch_matmul(bfloat16[3,20,17], bfloat16[3,36,17], transpose_b=True)",
        "nn.dense(bfloat16[20,12], bfloat16[600,12], units=600)",
        "nn.dense(int16[13,40], int16[50,40], units=50, out_dtype=\"int32\")",
        "nn.dense(int8[13,40], int8[50,40], units=50, out_dtype=\"int32\")",
        "nn.dense(uint8[45,131], int8[50,131], units=50, out_dtype=\"int32\")",
        "nn.matmul(int32[37,29]{-100..100}, int32[29,45]{-100..100}, units=45)",
        "nn.conv2d(float32[1,3,14,14], float32[33,3,3,3], padding=[1,1,1,1])",
        "nn.conv2d(float32[2,3,15,17], float32[8,3,3,3], strides=[2,2], padding=[0,1,2,1])",
        "nn.conv2d(float32[1,8,9,20], float32[20,8,1,1])",
        "nn.conv2d(float32[1,4,12,40], float32[6,4,3,3], dilation=[2,2])",
        "nn.conv2d(float32[1,4,10,10], float32[24,2,3,3], groups=2)",
        "nn.conv2d(float32[1,12,10,33], float32[12,1,3,3], groups=12, padding=[1,1,1,1])"));

INSTANTIATE_TEST_SUITE_P(
    SumsOfOneTerm, LargerKernels,
    ::testing::Values("nn.dense(float32[90,1], float32[100,1], units=100)",
                      "nn.matmul(float32[90,1], float32[1,103], units=103)",
                      "nn.batch_matmul(float32[3,40,1], float32[3,1,90], transpose_b=False)",
                      "nn.dense(bfloat16[90,1], bfloat16[100,1], units=100)",
                      "nn.dense(int16[90,1], int16[100,1], units=100, out_dtype=\"int32\")",
                      "nn.dense(uint8[90,1], int8[100,1], units=100, out_dtype=\"int32\")",
                      "nn.conv1d(float32[1,1,200], float32[64,1,1])",
                      "nn.conv2d(uint8[1,1,13,15], int8[48,1,1,1], out_dtype=\"int32\")",
                      // A matrix with distant columns is packed.
                      "def @main(%x: Tensor[(90, 1), float32], %y: Tensor[(104, 3), float32]) {\n"
                      "  %0 = strided_slice(%y, begin=[1], end=[2], strides=[1], axes=[1]);\n"
                      "  nn.dense(%x, %0, units=104)\n}\n",
                      "def @main(%x: Tensor[(90, 1), float32], %w: Tensor[(100, 1), float32],"
                      " %b: Tensor[(100), float32]) {\n"
                      "  nn.relu(add(nn.dense(%x, %w, units=100), %b))\n}\n"));

INSTANTIATE_TEST_SUITE_P(
    ConvolutionsByNeighbours, LargerKernels,
    ::testing::Values(
        "nn.conv2d(int16[1,4,14,14], int16[33,4,3,3], padding=[1,1,1,1], out_dtype=\"int32\")",
        "nn.conv2d(int16[2,6,15,17], int16[8,6,3,3], strides=[2,2], padding=[0,1,2,1], "
        "out_dtype=\"int32\")",
        "nn.conv2d(int16[1,8,9,20], int16[20,8,1,1], out_dtype=\"int32\")",
        "nn.conv2d(int16[1,4,12,40], int16[6,4,3,3], dilation=[2,2], out_dtype=\"int32\")",
        "nn.conv2d(int16[1,3,12,14], int16[16,3,3,3], out_dtype=\"int32\")",  // has no pairs
        "nn.conv2d(int16[1,4,10,10], int16[24,2,3,3], groups=2, out_dtype=\"int32\")",
        "nn.conv2d(int16[1,9,13,8], int16[3,3,8,24], padding=[1,1,1,1], out_dtype=\"int32\", "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv1d(int16[2,10,40], int16[20,10,5], padding=[2,2], out_dtype=\"int32\")",
        "nn.conv3d(int16[1,4,5,6,7], int16[18,4,3,3,3], padding=[1,1,1,1,1,1], "
        "out_dtype=\"int32\")",
        "nn.conv2d(bfloat16[1,16,9,10], bfloat16[20,16,3,3], padding=[1,1,1,1])",
        "nn.conv2d(bfloat16[1,21,9,10], bfloat16[20,21,3,3], padding=[1,1,1,1])",
        "nn.conv2d(uint8[1,18,9,10], int8[20,18,3,3], padding=[1,1,1,1], out_dtype=\"int32\")",
        // The image is a result, too, and has another reader.
        "def @main(%x: Tensor[(1, 4, 9, 9), int16], %w: Tensor[(20, 4, 3, 3), int16]) {\n"
        "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], out_dtype=\"int32\");\n"
        "  %1 = cast(clip(%0, a_min=-99f, a_max=99f), dtype=\"int16\");\n"
        "  (%1, nn.relu(%1))\n}\n"));

INSTANTIATE_TEST_SUITE_P(
    Others, LargerKernels,
    ::testing::Values(
        // Choices by channel are made outside of the rows, those by column within them.
        "def @main(%x: Tensor[(2, 9, 5, 7), float32], %y: Tensor[(2, 20, 5, 7), float32],"
        " %z: Tensor[(2, 1, 5, 7), float32]) {\n"
        "  sigmoid(add(concatenate((%x, %y, %z, %x), axis=1),"
        " concatenate((%y, %z, %x, %x), axis=1)))\n}\n",
        "def @main(%x: Tensor[(33, 9), float32], %y: Tensor[(33, 40), float32]) {\n"
        "  nn.relu(concatenate((%x, %y, %x), axis=1))\n}\n",
        "nn.softmax(float32[2,3,40,50])", "nn.softmax(float32[2,40,30], axis=1)",
        "nn.log_softmax(float32[7,100])",
        "nn.layer_norm(float32[2,9,70], float32[70], float32[70])",
        "nn.rms_norm(float32[2,9,70], float32[70])", "nn.layer_norm_factors(float32[2,9,70])",
        "mean(float32[4,60,30], axis=[-1])", "mean(float16[2,9,10,24], axis=[1,2])",
        "max(float32[3,70,13], axis=[1])",
        "nn.global_avg_pool2d(float16[2,9,10,20], "
        "layout=\"NHWC\")",
        "sum(float32[70,90], axis=[0])", "sum(float32[5,8,9,10], axis=[1,3])",
        "max(float32[5,8,9,10], axis=[2,3])", "transpose(float32[40,70], axes=[1,0])",
        "transpose(float32[512,516], axes=[1,0])", "transpose(float32[6,20,3,18], axes=[0,2,3,1])",
        "nn.max_pool2d(float32[1,6,25,25], pool_size=[3,3], strides=[2,2], padding=[1,1,1,1])",
        "nn.avg_pool2d(float32[1,6,24,40], pool_size=[2,2], strides=[2,2])",
        "concatenate((float32[3,20], float32[3,33]), axis=1)"));

INSTANTIATE_TEST_SUITE_P(
    Quotients, LargerKernels,
    ::testing::Values("qnn.dequantize_blocks(uint8[5,48]{0..255}, float32[5,3], uint8[]=8, "
                      "block_size=32, bits=4)",
                      "qnn.dequantize_blocks(uint8[5,48]{0..255}, float32[5,3], "
                      "uint8[5,3]{0..15}, block_size=32, bits=4, size=94)",
                      "qnn.dequantize_blocks(uint8[5,32]{0..255}, float16[5,2], uint8[]=2, "
                      "block_size=64, bits=2)",
                      "qnn.dequantize_blocks(uint8[5,96]{0..255}, float32[5,3], uint8[]=128)",
                      "qnn.dequantize_blocks(uint8[32,40]{0..255}, float32[2,80], uint8[]=8, "
                      "axis=0, block_size=16, bits=4)",
                      "qnn.dense_blocks(float32[1,128], int32[2,16,16]{-2147483648..2147483647}, "
                      "float32[2,4,16], "
                      "float32[]=8, units=25)",
                      "qnn.dense_blocks(float32[2,9,100], int32[2,16,16]{-2147483648..2147483647}, "
                      "float32[2,2,16], "
                      "float32[2,2,16], units=32, block_size=64)",
                      "qnn.dense_blocks(float32[13,96], int32[1,24,16]{-2147483648..2147483647}, "
                      "float32[1,3,16], "
                      "float32[]=128, units=16, bits=8)",
                      "qnn.unpack_blocks(int32[2,16,16]{-2147483648..2147483647}, float32[2,2,16], "
                      "float32[2,2,16], "
                      "units=32, block_size=64, terms=100)",
                      "repeat(float32[3,40], repeats=2, axis=1)",
                      "nn.depth_to_space(float32[1,8,3,40], block_size=2)"));

INSTANTIATE_TEST_SUITE_P(
    Chains, LargerKernels,
    ::testing::Values(
        "def @main(%x: Tensor[(20, 30), float32], %w: Tensor[(70, 30), float32],"
        " %b: Tensor[(70), float32], %r: Tensor[(20, 70), float32]) {\n"
        "  %0 = nn.dense(%x, %w, units=70);\n  %1 = add(%0, %b);\n  %2 = nn.gelu(%1);\n"
        "  add(%2, %r)\n}\n",
        "def @main(%x: Tensor[(2, 3, 20, 40), float32], %m: Tensor[(2, 1, 1, 40), float32]) {\n"
        "  %0 = multiply(%x, 0.125f);\n  %1 = subtract(1f, %m);\n  %2 = multiply(%1, -100f);\n"
        "  %3 = add(%0, %2);\n  nn.softmax(%3)\n}\n",
        "def @main(%x: Tensor[(1, 2, 14, 14), float32], %w: Tensor[(20, 2, 3, 3), float32],"
        " %b: Tensor[(20, 1, 1), float32], %r: Tensor[(1, 20, 14, 14), float32]) {\n"
        "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);\n  %1 = add(%0, %b);\n"
        "  %2 = add(%1, %r);\n  nn.relu(%2)\n}\n",
        "def @main(%x: Tensor[(30, 40), float32]) {\n"
        "  %0 = exp(%x);\n  %1 = add(%0, %x);\n  (%0, %1)\n}\n",
        "def @main(%x: Tensor[(30, 64), float32]) {\n"
        "  %0 = reshape(%x, newshape=[30, 4, 16]);\n  %1 = transpose(%0, axes=[1, 0, 2]);\n"
        "  multiply(%1, %1)\n}\n",
        "def @main(%x: Tensor[(12, 200), float32], %y: Tensor[(12, 200), float32]) {\n"
        "  %0 = add(%x, %y);\n  %1 = tanh(%0);\n  %2 = sum(%1, axis=[1], keepdims=True);\n"
        "  %3 = divide(%1, %2);\n  (%3, %0)\n}\n"));

// ---- Windows of which a thread makes several ----------------------------------------------------

class DeviceWindows : public ::testing::TestWithParam<const char*> {};

TEST_P(DeviceWindows, EqualEvalAndStayInside) {
  const relay::Function f = run::function_of(GetParam());
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  const tir::PrimFunc kernel = schedule_device_kernel(lowered(f), {1});
  const std::string text = GetParam() + ("\n" + tir::print(kernel, "kernel"));
  EXPECT_NE(text.find("_sums = T.alloc_buffer"), text.npos) << text;
  const auto valid = tir::verify(kernel, "kernel");
  ASSERT_TRUE(valid.has_value()) << render(valid.error()) << text;
  EXPECT_EQ(tir::unproven_accesses(kernel), std::vector<std::string>{}) << text;
  run::expect_close(run::evaluated(f, inputs), run::interpreted(kernel, inputs), text);
}

INSTANTIATE_TEST_SUITE_P(
    ChannelsLast, DeviceWindows,
    ::testing::Values(
        "nn.conv2d(float16[2,9,14,24], float16[3,3,4,24], groups=6, padding=[1,1,1,1], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[1,9,13,16], float16[3,3,8,16], groups=2, padding=[1,1,1,1], "
        "strides=[2,2], data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[2,7,7,32], float16[3,3,16,64], groups=2, padding=[1,1,1,1], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        // Neither places nor channels divide by anything.
        "nn.conv2d(float16[1,7,11,15], float16[3,3,5,9], groups=3, padding=[0,1,2,1], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[1,6,11,13], float16[5,5,1,13], groups=13, padding=[2,2,2,2], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        // Without a border, the last thread of a row would read what is beyond it.
        "nn.conv2d(float32[1,6,13,8], float32[3,3,1,8], groups=8, "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float32[1,9,23,8], float32[3,3,1,8], groups=8, strides=[2,2], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        // Dilated: neighbours have no elements in common. Strides beyond the window: neither.
        "nn.conv2d(float16[1,9,12,16], float16[3,3,1,16], groups=16, padding=[2,2,2,2], "
        "dilation=[2,2], data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[1,9,13,16], float16[2,2,1,16], groups=16, strides=[3,3], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[1,9,15,16], float16[3,3,1,16], groups=16, strides=[4,4], "
        "dilation=[2,2], data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[1,5,40,16], float16[3,31,1,16], groups=16, padding=[1,15,1,15], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        // More weights than are to be near, of more channels than a warp has threads.
        "nn.conv2d(float16[1,1,7,640], float16[1,41,1,640], groups=640, padding=[0,20,0,20], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[1,2,3,288], float16[3,3,16,288], groups=18, padding=[1,1,1,1], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        // Several results of one channel, and channels of which each has several results.
        "nn.conv2d(float16[1,8,8,8], float16[3,3,1,16], groups=8, padding=[1,1,1,1], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[1,8,8,8], float16[3,3,2,4], groups=4, padding=[1,1,1,1], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(int8[1,8,9,16], int8[3,3,1,16], groups=16, padding=[1,1,1,1], "
        "out_dtype=\"int32\", data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(bfloat16[1,8,9,16], bfloat16[3,3,1,16], groups=16, padding=[1,1,1,1], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[1,8,9,16], float16[16,3,3,4], groups=4, padding=[1,1,1,1], "
        "data_layout=\"NHWC\", kernel_layout=\"OHWI\")",
        "nn.conv1d(float16[2,20,16], float16[5,4,16], groups=4, padding=[2,2], "
        "data_layout=\"NWC\", kernel_layout=\"WIO\")",
        "nn.conv3d(float32[1,4,5,6,8], float32[3,3,3,1,8], groups=8, padding=[1,1,1,1,1,1], "
        "data_layout=\"NDHWC\", kernel_layout=\"DHWIO\")",
        "def @main(%x: Tensor[(2, 9, 10, 16), float16], %w: Tensor[(3, 3, 4, 16), float16],"
        " %b: Tensor[(16), float16], %r: Tensor[(2, 9, 10, 16), float16]) {\n"
        "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=4, data_layout=\"NHWC\","
        " kernel_layout=\"HWIO\");\n  %1 = add(add(%0, %b), %r);\n"
        "  multiply(%1, sigmoid(%1))\n}\n"));

INSTANTIATE_TEST_SUITE_P(
    ChannelsFirst, DeviceWindows,
    ::testing::Values(
        "nn.conv2d(float16[2,24,9,14], float16[24,4,3,3], groups=6, padding=[1,1,1,1])",
        "nn.conv2d(float16[1,12,13,9], float16[18,2,3,3], groups=6, strides=[2,2])",
        "nn.conv2d(float32[1,6,15,7], float32[6,1,5,5], groups=6, padding=[2,2,2,2])",
        "nn.conv2d(float32[1,6,15,7], float32[6,1,3,3], groups=6, padding=[2,2,2,2], "
        "dilation=[2,2])",
        "nn.conv2d(float32[1,4,10,12], float32[12,1,4,4], groups=4, strides=[2,1])",
        "def @main(%x: Tensor[(1, 16, 9, 10), float16], %w: Tensor[(16, 4, 3, 3), float16],"
        " %b: Tensor[(16, 1, 1), float16], %r: Tensor[(1, 16, 9, 10), float16]) {\n"
        "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=4);\n"
        "  nn.relu(add(add(%0, %b), %r))\n}\n"));

// A sum over a whole image or matrix is no window: its terms lie along memory.
TEST(NoWindows, AreSeenInProducts) {
  for (const char* text : {"nn.dense(float16[4,768], float16[10,768], units=10)",
                           "nn.batch_matmul(float32[3,20,16], float32[3,36,16], transpose_b=True)",
                           "nn.conv2d(float16[1,16,9,9], float16[16,4,1,1], groups=4)"}) {
    const tir::PrimFunc kernel = schedule_device_kernel(lowered(run::function_of(text)), {1});
    EXPECT_EQ(tir::print(kernel, "kernel").find("_sums"), std::string::npos) << text;
  }
}

// ---- Text ---------------------------------------------------------------------------------------

struct Golden {
  const char* name;
  const char* text;
};
class Goldens : public ::testing::TestWithParam<Golden> {};

TEST_P(Goldens, ScheduledText) {
  const tir::PrimFunc kernel = scheduled(run::function_of(GetParam().text), kWide);
  testing::expect_golden(
      std::string(TESSERA_SOURCE_DIR "/src/schedule/testdata/") + GetParam().name + ".tir",
      tir::print(kernel, GetParam().name));
}

// Two terms of the sum in one statement, which the emitter knows.
TEST(Pairs, AreMultipliedAtOnce) {
  const auto text_of = [](const Machine& machine, int terms) {
    const std::string text =
        fmt::format("nn.dense(bfloat16[24,{0}], bfloat16[64,{0}], units=64)", terms);
    return tir::print(scheduled(run::function_of(text.c_str()), machine), "kernel");
  };
  testing::expect_golden(TESSERA_SOURCE_DIR "/src/schedule/testdata/dense_pairs.tir",
                         text_of(kPairs, 96));
  EXPECT_EQ(text_of(kPairs, 97), text_of(kWide, 97)) << "the last one has no neighbour";
}

// The border is written with channels last, side by side.
TEST(Pairs, OfChannelsAreMultipliedAtOnce) {
  const tir::PrimFunc plain = lowered(run::function_of(
      "nn.conv2d(int16[1,64,14,14], int16[64,64,3,3], padding=[1,1,1,1], out_dtype=\"int32\")"));
  testing::expect_golden(
      TESSERA_SOURCE_DIR "/src/schedule/testdata/conv2d_pairs.tir",
      tir::print(schedule_kernel(plain, kPairs, {plain.inputs[1]}).kernel, "kernel"));
}

// By tiles of the matrix unit, of which the last rows and columns have others.
TEST(Unit, MultipliesMatrices) {
  const auto text_of = [](const char* text, const Machine& machine) {
    const tir::PrimFunc plain = lowered(run::function_of(text));
    return tir::print(schedule_kernel(plain, machine, {plain.inputs[1]}).kernel, "kernel");
  };
  testing::expect_golden(
      TESSERA_SOURCE_DIR "/src/schedule/testdata/dense_unit.tir",
      text_of("def @main(%x: Tensor[(?n, 100), uint8], %w: Tensor[(136, 100), int8],"
              " %b: Tensor[(136), int32]) {\n"
              "  %0 = nn.dense(%x, %w, units=136, out_dtype=\"int32\");\n"
              "  cast(add(%0, %b), dtype=\"float32\")\n}\n",
              kUnit));
  testing::expect_golden(TESSERA_SOURCE_DIR "/src/schedule/testdata/dense_unit_bfloat16.tir",
                         text_of("nn.dense(bfloat16[50,96], bfloat16[64,96], units=64)", kUnit));
  for (const char* text : {"nn.dense(bfloat16[24,12], bfloat16[64,12], units=64)",
                           "nn.dense(float32[24,96], float32[64,96], units=64)",
                           "nn.dense(int16[24,96], int16[64,96], units=64, out_dtype=\"int32\")"}) {
    EXPECT_EQ(text_of(text, kUnit), text_of(text, kPairs)) << "not by the unit";
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Goldens,
    ::testing::Values(
        Golden{"softmax", "nn.softmax(float32[1,12,128,128])"},
        Golden{"layer_norm", "nn.layer_norm(float32[1,128,768], float32[768], float32[768])"},
        Golden{"rms_norm", "nn.rms_norm(float32[1,128,768], float32[768])"},
        Golden{"where",
               "def @main(%x: Tensor[(1, 12, 128, 128), float32]) {\n"
               "  %0 = isnan(%x);\n  where(%0, 0f, %x)\n}\n"},
        Golden{"gelu", "nn.gelu(float32[1,128,3072])"},
        Golden{"split_heads", "transpose(float32[1,128,12,64], axes=[0,2,1,3])"},
        Golden{"transpose", "transpose(float32[128,768], axes=[1,0])"},
        Golden{"dequantize_blocks",
               "qnn.dequantize_blocks(uint8[2048,1024], float32[2048,64], uint8[]=8, "
               "block_size=32, bits=4)"},
        Golden{"dense_blocks",
               "qnn.dense_blocks(float32[1,4096], int32[64,512,16], float32[64,128,16], "
               "float32[]=8, units=1024)"},
        Golden{"dense_blocks_rows",
               "qnn.dense_blocks(float32[2,5,4000], int32[65,512,16], float32[65,32,16], "
               "float32[65,32,16], units=1026, block_size=128)"},
        Golden{"unpack_blocks",
               "qnn.unpack_blocks(int32[64,512,16], float32[64,128,16], float32[]=8, units=1024, "
               "terms=4096)"},
        Golden{"mean", "mean(float32[1,128,768], axis=[-1])"},
        Golden{"column_sum", "sum(float32[512,768], axis=[0])"},
        Golden{"global_mean", "mean(float32[1,512,7,7], axis=[2,3])"},
        Golden{"max_pool",
               "nn.max_pool2d(float32[1,64,112,112], pool_size=[3,3], strides=[2,2], "
               "padding=[1,1,1,1])"},
        Golden{"matmul", "nn.matmul(float32[128,768], float32[768,100], units=100)"},
        Golden{"conv2d", "nn.conv2d(float32[1,64,56,56], float32[64,64,3,3], padding=[1,1,1,1])"},
        Golden{"depthwise",
               "nn.conv2d(float32[1,96,56,56], float32[96,1,3,3], "
               "padding=[1,1,1,1], groups=96)"},
        Golden{
            "open_rows",
            "def @main(%x: Tensor[(?n, 64), float32], %w: Tensor[(64, 48), float32],"
            " %b: Tensor[(48), float32]) {\n  nn.relu(add(nn.matmul(%x, %w, units=48), %b))\n}\n"},
        Golden{"open_rows_in_tiles",
               "def @main(%x: Tensor[(?n, 64), float32], %w: Tensor[(64, 130), float32],"
               " %b: Tensor[(130), float32]) {\n"
               "  nn.relu(add(nn.matmul(%x, %w, units=130), %b))\n}\n"},
        Golden{"concatenated_channels",
               "def @main(%x: Tensor[(2, 3, 12, 20), float32], %y: Tensor[(2, 8, 12, 20), float32],"
               " %z: Tensor[(2, 1, 12, 20), float32]) {\n"
               "  nn.relu(concatenate((%x, %y, %z), axis=1))\n}\n"},
        Golden{"open_image",
               "def @main(%x: Tensor[(1, 8, ?h, ?w), float32], %w: Tensor[(8, 8, 3, 3), float32],"
               " %b: Tensor[(8), float32]) {\n"
               "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);\n"
               "  nn.relu(nn.bias_add(%0, %b))\n}\n"},
        Golden{"dense_bias_gelu",
               "def @main(%x: Tensor[(128, 768), float32], %w: Tensor[(3072, 768), float32],"
               " %b: Tensor[(3072), float32]) {\n"
               "  %0 = nn.dense(%x, %w, units=3072);\n  %1 = add(%0, %b);\n  nn.gelu(%1)\n}\n"}),
    [](const auto& info) { return std::string(info.param.name); });

class DeviceGoldens : public ::testing::TestWithParam<Golden> {};

TEST_P(DeviceGoldens, ScheduledText) {
  const tir::PrimFunc kernel = schedule_device_kernel(lowered(run::function_of(GetParam().text)));
  testing::expect_golden(
      std::string(TESSERA_SOURCE_DIR "/src/schedule/testdata/device_") + GetParam().name + ".tir",
      tir::print(kernel, GetParam().name));
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceGoldens,
    ::testing::Values(
        Golden{"softmax", "nn.softmax(float32[1,12,128,128])"},
        Golden{"layer_norm", "nn.layer_norm(float16[12288,1024], float16[1024], float16[1024])"},
        Golden{"add_layer_norm",
               "def @main(%x: Tensor[(4096, 768), float32], %b: Tensor[(768), float32],"
               " %r: Tensor[(4096, 768), float32], %g: Tensor[(768), float32],"
               " %s: Tensor[(768), float32]) {\n"
               "  %0 = add(%x, %b);\n  %1 = add(%0, %r);\n  nn.layer_norm(%1, %g, %s)\n}\n"},
        Golden{"layer_norm_factors", "nn.layer_norm_factors(float16[12288,1024])"},
        Golden{"rms_norm", "nn.rms_norm(float16[12288,1024], float16[1024])"},
        Golden{"add_rms_norm",
               "def @main(%x: Tensor[(12288, 1024), float16], %b: Tensor[(1024), float16],"
               " %r: Tensor[(12288, 1024), float16], %g: Tensor[(1024), float16]) {\n"
               "  %0 = add(%x, %b);\n  %1 = add(%0, %r);\n  nn.rms_norm(%1, %g)\n}\n"},
        Golden{"bias_gelu",
               "def @main(%x: Tensor[(128, 3072), float16], %b: Tensor[(3072), float16]) {\n"
               "  %0 = add(%x, %b);\n  nn.gelu(%0)\n}\n"},
        Golden{"split_heads", "transpose(float32[1,128,12,64], axes=[0,2,1,3])"},
        Golden{"take", "take(float16[30522,1024], int64[32,384], axis=0)"},
        Golden{"transpose_in_vectors", "transpose(float16[1032,4096], axes=[1,0])"},
        Golden{"concatenate_of_taken",
               "def @main(%a: Tensor[(128, 512), float16], %t: Tensor[(1000, 512), float16],"
               " %i: Tensor[(384), int64]) {\n"
               "  %0 = (nn.relu(%a), take(%t, %i, axis=0));\n  concatenate(%0, axis=0)\n}\n"},
        Golden{"rotate_half",
               "def @main(%a: Tensor[(1, 32, 512, 64), float16],"
               " %b: Tensor[(1, 32, 512, 64), float16], %s: Tensor[(512, 128), float16]) {\n"
               "  %0 = (negative(%b), %a);\n  multiply(concatenate(%0, axis=-1), %s)\n}\n"},
        Golden{"concatenate_scale_relu",
               "def @main(%a: Tensor[(32, 56, 56, 64), float16],"
               " %b: Tensor[(32, 56, 56, 32), float16], %c: Tensor[(32, 56, 56, 32), float16],"
               " %s: Tensor[(128), float16]) {\n"
               "  %0 = (%a, %b, %c);\n  %1 = concatenate(%0, axis=-1);\n"
               "  nn.relu(multiply(%1, %s))\n}\n"},
        Golden{"transpose", "transpose(float32[128,768], axes=[1,0])"},
        Golden{"column_sum", "sum(float32[512,768], axis=[0])"},
        Golden{"max_pool",
               "nn.max_pool2d(float32[1,64,112,112], pool_size=[3,3], strides=[2,2], "
               "padding=[1,1,1,1])"},
        Golden{"conv2d", "nn.conv2d(float32[1,64,56,56], float32[64,64,3,3], padding=[1,1,1,1])"},
        Golden{"conv2d_of_padded", "nn.conv2d(float32[8,64,58,58], float32[64,64,3,3])"},
        Golden{"depthwise_bias_relu",
               "def @main(%x: Tensor[(8, 56, 56, 96), float16],"
               " %w: Tensor[(3, 3, 1, 96), float16], %b: Tensor[(96), float16]) {\n"
               "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=96,"
               " data_layout=\"NHWC\", kernel_layout=\"HWIO\");\n"
               "  nn.relu(add(%0, %b))\n}\n"},
        Golden{"global_mean", "mean(float16[32,56,56,144], axis=[1,2])"},
        Golden{"grouped_conv2d",
               "nn.conv2d(float16[32,28,28,128], float16[3,3,4,128], groups=32, strides=[2,2], "
               "padding=[1,1,1,1], data_layout=\"NHWC\", kernel_layout=\"HWIO\")"},
        Golden{"grouped_conv2d_of_many_weights",
               "nn.conv2d(float32[32,14,14,512], float32[3,3,16,512], groups=32, "
               "padding=[1,1,1,1], data_layout=\"NHWC\", kernel_layout=\"HWIO\")"},
        Golden{"window_product",
               "def @main(%x: Tensor[(32, 14, 14, 512), float16],"
               " %w: Tensor[(3, 3, 16, 512), float16], %b: Tensor[(512), float16],"
               " %r: Tensor[(32, 14, 14, 512), float16]) {\n"
               "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=32,"
               " data_layout=\"NHWC\", kernel_layout=\"HWIO\");\n"
               "  nn.relu(add(add(%0, %b), %r))\n}\n"},
        Golden{"window_product_strided",
               "nn.conv2d(bfloat16[3,15,61,128], bfloat16[5,3,64,128], groups=2, strides=[2,1], "
               "padding=[2,1,2,1], data_layout=\"NHWC\", kernel_layout=\"HWIO\")"},
        Golden{"grouped_conv2d_channels_first",
               "nn.conv2d(float16[32,128,58,56], float16[128,4,3,3], groups=32, "
               "padding=[1,1,1,1])"},
        Golden{"dense_bias_gelu",
               "def @main(%x: Tensor[(128, 768), float32], %w: Tensor[(3072, 768), float32],"
               " %b: Tensor[(3072), float32]) {\n"
               "  %0 = nn.dense(%x, %w, units=3072);\n  %1 = add(%0, %b);\n  nn.gelu(%1)\n}\n"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera::schedule
