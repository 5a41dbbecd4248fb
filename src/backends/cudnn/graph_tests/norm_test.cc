// SPDX-License-Identifier: Apache-2.0
// Layer norms and RMS norms on a stand-in of cuDNN.
#include <gtest/gtest.h>

#include "backends/cudnn/graph_tests/graphs.h"
#include "backends/cudnn/testing/fake.h"

namespace tessera::backends::cudnn {
namespace {

namespace graphs = ::tessera::backends::testing;
using testing::compiled;
using testing::compiling;
using testing::graph_of;
using testing::refusal_of;

const testing::FakeLibrary fake_for_norms(TESSERA_FAKE_CUDNN_FOLDER);

struct NormCase {
  std::string parameters, body, composite;
  double tolerance;
};

TEST(CudnnNorm, ComputesWhatTheGraphDoes) {
  const NormCase cases[] = {
      {"%x: Tensor[(3, 5, 24), float32], %g: Tensor[(24), float32], %b: Tensor[(24), float32]",
       "nn.layer_norm(%x, %g, %b)", "layer_norm", 2e-6},
      {"%x: Tensor[(7, 77), float16], %g: Tensor[(77), float16], %b: Tensor[(77), float16]",
       "nn.layer_norm(%x, %g, %b, axis=1, epsilon=0.5f)", "layer_norm", 1e-3},
      {"%x: Tensor[(1, 2, 3, 16), bfloat16], %g: Tensor[(16), bfloat16], %b: Tensor[(16), "
       "bfloat16]",
       "nn.layer_norm(%x, %g, %b, axis=-1)", "layer_norm", 8e-3},
      {"%x: Tensor[(4, 33), float32], %g: Tensor[(33), float32]",
       "nn.rms_norm(%x, %g, epsilon=0.25f)", "rms_norm", 2e-6},
      {"%x: Tensor[(2, 3, 16), float16], %g: Tensor[(16), float16]", "nn.rms_norm(%x, %g, axis=2)",
       "rms_norm", 1e-3},
      {"%x: Tensor[(9), float32], %g: Tensor[(9), float32]", "nn.rms_norm(%x, %g)", "rms_norm",
       2e-6},
      // Constants are operands as parameters are.
      {"%x: Tensor[(4, 8), bfloat16], %c_g: Tensor[(8), bfloat16]", "nn.rms_norm(%x, %c_g)",
       "rms_norm", 8e-3},
  };
  for (const NormCase& c : cases) {
    SCOPED_TRACE(c.body + " of " + c.parameters);
    const Module module = graph_of(c.parameters, c.body);
    const auto outcome = compiled(module, compiling());
    EXPECT_EQ(graphs::composites_of(outcome), std::vector{c.composite});
    graphs::expect_same_results(outcome.module, module, c.tolerance, {1});
  }
}

TEST(CudnnNorm, SaysTheNumberInItsPayload) {
  const auto outcome = compiled(graph_of("%x: Tensor[(4, 8), float32], %g: Tensor[(8), float32]",
                                         "nn.rms_norm(%x, %g, epsilon=1e-6f)"),
                                compiling());
  const std::string& payload = outcome.module.artifacts.at(0).payload;
  EXPECT_NE(payload.find("\"value\":[[\"1e-06\"]]"), std::string::npos) << payload;
  EXPECT_NE(payload.find("\"mode\":[[\"rms\"]]"), std::string::npos) << payload;
  EXPECT_NE(payload.find("plan 7 "), std::string::npos) << payload;
}

TEST(CudnnNorm, RefusesWithASentence) {
  const std::string weights = ", %g: Tensor[(8), float32], %b: Tensor[(8), float32]";
  const auto layer = [&](const std::string& x, const std::string& more = "") {
    return refusal_of("%x: Tensor[(" + x + "), float32]" + weights,
                      "nn.layer_norm(%x, %g, %b" + more + ")", compiling());
  };
  EXPECT_EQ(layer("4, 8"), "taken");
  EXPECT_EQ(layer("?n, 8"), "a plan of cuDNN is for known sizes, not Tensor[(?n, 8), float32]");
  EXPECT_EQ(layer("0, 8"), "a tensor is empty");
  EXPECT_EQ(layer("8, 4", ", axis=0"), "the axis is 0, not the last one");
  EXPECT_EQ(layer("4, 8", ", center=False"), "a layer norm without scale or bias");
  EXPECT_EQ(refusal_of("%x: Tensor[(4, 8), float32], %g: Tensor[(8), float32]",
                       "nn.rms_norm(%x, %g, scale=False)", compiling()),
            "an RMS norm without a scale");
  EXPECT_EQ(refusal_of("%x: Tensor[(4, 8), float64], %g: Tensor[(8), float64]",
                       "nn.rms_norm(%x, %g)", compiling()),
            "a norm of float64");
  EXPECT_EQ(refusal_of("%x: Tensor[(8), float32]", "nn.rms_norm(%x, %x)", compiling()),
            "cuDNN reads no tensor in two places of a graph");
}

// All of its engines are such, and a user who does not know is told.
TEST(CudnnNorm, NeedsEnginesThatAreCompiled) {
  EXPECT_EQ(
      refusal_of("%x: Tensor[(4, 8), float32], %g: Tensor[(8), float32]", "nn.rms_norm(%x, %g)"),
      "cuDNN 91900 has no engine for it that is as exact as it must be: 4 rows of 8; engines "
      "whose code it compiles are taken with `-runtime_engines`");
}

}  // namespace
}  // namespace tessera::backends::cudnn
