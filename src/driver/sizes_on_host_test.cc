// SPDX-License-Identifier: Apache-2.0
// What is emitted for a GPU of models that compute sizes: no shape work on the device, no copies
// for it, no upload of what only says sizes. Needs neither a GPU nor its compiler.
#include <set>

#include "driver/build.h"
#include "driver/pipeline.h"
#include "driver/testing/model_test.h"
#include "emit/kernel.h"
#include "lower/testing/text.h"
#include "plan/device.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class SizesOnHost : public ::testing::Test {
 protected:
  void lower_text(const std::string& text) {
    CompileOptions options;
    options.targets = {value_of(parse_target("cuda"))};
    Module module = lower::testing::module_of(text);
    module.targets = options.targets;
    std::vector<Diagnostic> warnings;
    module = value_of(optimize_graph(std::move(module), options, warnings));
    module = value_of(prepare_native(std::move(module), options, warnings));
    lowered_ = value_of(lower_module(std::move(module), options));
    host_ = emit::emit_host(lowered_.module, lowered_.plan,
                            emit::layout_weights(lowered_.module, lowered_.plan.constants), {},
                            emit::ProgramKind::kModel)
                .text();
  }

  // The operators of the kernels that become C++, and of those that become CUDA; each once.
  std::set<std::string> operators(bool as_cpp) const {
    std::set<std::string> found;
    for (const auto& [symbol, f] : lowered_.module.prim_funcs) {
      if (f.is_host || plan::computes_on_cpu(lowered_.module, symbol) != as_cpp) continue;
      found.insert(f.attrs.at("ops"));
      if (as_cpp) {
        EXPECT_NE(emit::emit_kernel(f, symbol).text().find("int32_t " + symbol), std::string::npos);
      }
    }
    return found;
  }
  std::size_t lines_with(const std::string& text) const {
    std::size_t count = 0;
    for (std::size_t at = host_.find(text); at != std::string::npos; ++count) {
      at = host_.find(text, at + 1);
    }
    return count;
  }

  Lowered lowered_;
  std::string host_;
};

TEST_F(SizesOnHost, AReshapeToSizesOfItsOwnInput) {
  lower_text(
      "def @main(%x: Tensor[(?n, 6), float32], %y: Tensor[(?n, ?m), float32]) {\n"
      "  %0 = reshape(multiply(take(shape_of(%x, dtype=\"int64\"), 0i64), 2i64), "
      "newshape=[1]);\n"
      "  %1 = concatenate((%0, reshape(3i64, newshape=[1])));\n"
      "  (exp(dyn.reshape(%x, %1)), tanh(dyn.reshape(%y, %1)))\n}\n");
  EXPECT_EQ(operators(false), (std::set<std::string>{"reshape exp", "tanh", "copy"}));
}

TEST_F(SizesOnHost, AChainIsComputedWithoutTheDevice) {
  lower_text(
      "def @main(%x: Tensor[(?n, 6), float32], %s: Tensor[(2), int64], %k: int64) {\n"
      "  %0 = nn.relu(%x);\n"
      "  %1 = multiply(%s, concatenate((reshape(1i64, newshape=[1]), reshape(2i64, "
      "newshape=[1]))));\n"
      "  %2 = floor_divide(take(shape_of(%0, dtype=\"int64\"), 0i64), %k);\n"
      "  %3 = concatenate((reshape(%2, newshape=[1]), reshape(%k, newshape=[1]),\n"
      "                    reshape(6i64, newshape=[1])));\n"
      "  (tanh(dyn.reshape(%0, %1)), exp(dyn.reshape(%0, %3)))\n}\n");
  for (const std::string& ops : operators(false)) {
    EXPECT_TRUE(ops == "nn.relu" || ops == "tanh" || ops == "exp" || ops == "copy") << ops;
  }
  EXPECT_TRUE(operators(true).contains("multiply"));
  EXPECT_TRUE(operators(true).contains("shape_of"));
  EXPECT_EQ(lines_with("{\"x\", {TESSERA_FLOAT, 32, 1}, 2, inputs_0_shape, inputs_0_min, "
                       "inputs_0_max, inputs_0_symbols, 0, 0}"),
            1u)
      << host_;
  EXPECT_EQ(lines_with("{\"s\", {TESSERA_INT, 64, 1}, 1, inputs_1_shape, nullptr, nullptr, "
                       "nullptr, 0, 1}"),
            1u)
      << host_;
  EXPECT_EQ(
      lines_with("{\"k\", {TESSERA_INT, 64, 1}, 0, nullptr, nullptr, nullptr, nullptr, 0, 1}"), 1u);
  // None of their tensors is the device's: the runtime copies nothing, and waits for nothing.
  EXPECT_GE(lines_with("tessera_kernel_on_host("), 4u);
  EXPECT_EQ(lines_with("const int64_t bytes[] = {0"), lines_with("tessera_kernel_on_host("));
  EXPECT_EQ(lines_with("const int64_t bytes[] = {0"), lines_with("bytes[] = {0, 0}") +
                                                          lines_with("bytes[] = {0, 0, 0}") +
                                                          lines_with("bytes[] = {0, 0, 0, 0}"))
      << host_;
  EXPECT_GE(lines_with("frame->host_constants["), 1u);
}

TEST_F(SizesOnHost, WhatTheDeviceReadsIsSent) {
  lower_text(
      "def @main(%x: Tensor[(?n, 6), float32], %b: Tensor[(2), int64], %e: Tensor[(2), int64]) {\n"
      "  dyn.strided_slice(%x, add(%b, 1i64), %e, ones(shape=[2], dtype=\"int64\"))\n}\n");
  EXPECT_EQ(lines_with("const int64_t bytes[] = {0, 8 * 2};"), 1u) << host_;
  EXPECT_EQ(lines_with("nullptr, 0, 1}"), 2u) << host_;  // b and e
}

TEST_F(SizesOnHost, DataOfTheDeviceAreCopied) {
  lower_text(
      "def @main(%x: Tensor[(100, 6), float32]) {\n"
      "  exp(cast(argwhere(%x), dtype=\"float32\"))\n}\n");
  EXPECT_EQ(lines_with("const int64_t bytes[] = {4 * 100 * 6, 0};"), 1u) << host_;
}

TEST_F(SizesOnHost, ChecksOfSizesAloneAreNoObstacleToReplay) {
  lower_text(
      "#[symbol a = 1..8]\n#[symbol b = 1..8]\n"
      "def @main(%x: Tensor[(2, ?a), float32], %y: Tensor[(3, ?b), float32]) {\n"
      "  nn.dense(%x, %y, units=None)\n}\n");
  EXPECT_GE(lines_with("tessera_kernel_on_host("), 1u) << host_;
  EXPECT_EQ(
      plan::replay_obstacle(lowered_.module.prim_funcs.at("main"), lowered_.module, lowered_.plan),
      "");
}

}  // namespace
}  // namespace tessera::driver
