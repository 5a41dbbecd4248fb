// SPDX-License-Identifier: Apache-2.0
// Convolutions on a stand-in of cuDNN that computes in the host's memory: what is taken computes
// what the graph does, what is not has a sentence.
#include "backends/cudnn/cudnn.h"

#include <gtest/gtest.h>

#include "backends/cudnn/compiler/library.h"
#include "backends/cudnn/graph_tests/graphs.h"
#include "backends/cudnn/runtime/call_site.h"
#include "backends/cudnn/testing/fake.h"
#include "backends/testing/graph_case.h"
#include "backends/testing/region_runner.h"

namespace tessera::backends::cudnn {
namespace {

namespace graphs = ::tessera::backends::testing;
using testing::compiled;
using testing::graph_of;
using testing::refusal_of;

const testing::FakeLibrary fake(TESSERA_FAKE_CUDNN_FOLDER);

struct Case {
  std::string what, parameters, body, composite;
  double tolerance = 4e-3;
};

constexpr const char* kLast = "padding=[1, 1], data_layout=\"NHWC\", kernel_layout=\"OHWI\"";
std::string last(const std::string& x = "%x", const std::string& more = "") {
  return fmt::format("nn.conv2d({}, %c_w, {}{})", x, more, kLast);
}

const std::vector<Case>& cases() {
  const std::string image = "%x: Tensor[(2, 5, 6, 8), float16], ",
                    square = image + "%c_w: Tensor[(8, 3, 3, 8), float16], ",
                    bias = "%c_b: Tensor[(8), float16]";
  static const std::vector<Case> all = {
      {"float32", "%x: Tensor[(2, 5, 6, 3), float32], %c_w: Tensor[(7, 3, 3, 3), float32]", last(),
       "conv2d", 2e-5},
      {"channels first", "%x: Tensor[(2, 3, 5, 6), float32], %w: Tensor[(7, 3, 2, 3), float32]",
       "nn.conv2d(%x, %w, strides=[2, 1])", "conv2d", 2e-5},
      {"bfloat16", "%x: Tensor[(1, 4, 4, 8), bfloat16], %c_w: Tensor[(8, 3, 3, 8), bfloat16]",
       last(), "conv2d", 3e-2},
      {"strides and dilation",
       "%x: Tensor[(1, 9, 11, 4), float16], %c_w: Tensor[(3, 3, 2, 4), float16]",
       last("%x", "strides=[2, 3], dilation=[2, 1], "), "conv2d"},
      {"padding that differs",
       "%x: Tensor[(1, 5, 5, 4), float16], %c_w: Tensor[(3, 3, 3, 4), float16]",
       "nn.conv2d(%x, %c_w, padding=[1, 0, 2, 1], data_layout=\"NHWC\", kernel_layout=\"OHWI\")",
       "conv2d"},
      {"groups", "%x: Tensor[(1, 5, 6, 8), float16], %c_w: Tensor[(4, 3, 3, 4), float16]",
       last("%x", "groups=2, "), "conv2d"},
      {"one channel a group",
       "%x: Tensor[(1, 5, 6, 8), float16], %c_w: Tensor[(16, 3, 3, 1), float16]",
       last("%x", "groups=8, "), "conv2d"},
      {"rows", "%x: Tensor[(2, 9, 4), float32], %c_w: Tensor[(6, 3, 4), float32]",
       "nn.conv1d(%x, %c_w, padding=[1, 2], data_layout=\"NWC\", kernel_layout=\"OWI\")", "conv1d",
       2e-5},
      {"rows, channels first", "%x: Tensor[(2, 4, 9), float32], %w: Tensor[(6, 4, 2), float32]",
       "nn.conv1d(%x, %w, dilation=[2])", "conv1d", 2e-5},
      {"bias", square + bias, "add(" + last() + ", %c_b)", "conv2d_epilogue"},
      {"bias_add and ReLU", square + bias, "nn.relu(nn.bias_add(" + last() + ", %c_b, axis=3))",
       "conv2d_epilogue"},
      {"a bias of channels that are second",
       "%x: Tensor[(1, 3, 5, 6), float32], %w: Tensor[(7, 3, 2, 3), float32], %b: Tensor[(7), "
       "float32]",
       "nn.relu(nn.bias_add(nn.conv2d(%x, %w), %b))", "conv2d_epilogue", 2e-5},
      {"a residual after the bias", square + bias + ", %r: Tensor[(2, 5, 6, 8), float16]",
       "nn.relu(add(nn.bias_add(" + last() + ", %c_b, axis=-1), %r))", "conv2d_epilogue"},
      {"a residual after the activation", square + bias + ", %r: Tensor[(2, 5, 6, 8), float16]",
       "add(nn.relu(nn.bias_add(" + last() + ", %c_b, axis=3)), %r)", "conv2d_epilogue"},
      {"a gate of each image", square + "%g: Tensor[(2, 1, 1, 8), float16]",
       "multiply(" + last() + ", %g)", "conv2d_epilogue"},
  };
  return all;
}

TEST(Cudnn, ComputesWhatTheGraphDoes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.what);
    const Module module = graph_of(c.parameters, c.body);
    const auto outcome = compiled(module);
    EXPECT_EQ(graphs::composites_of(outcome), std::vector{c.composite});
    graphs::expect_same_results(outcome.module, module, c.tolerance, {1});
  }
}

// Activations that only an engine of the last list computes: with a convolution that has no other
// either, as in float32.
TEST(Cudnn, ComputesActivations) {
  for (const char* body :
       {"nn.relu(%0)", "clip(%0, a_min=0f, a_max=0.5f)", "sigmoid(%0)", "tanh(%0)", "nn.gelu(%0)",
        "nn.elu(%0, alpha=0.5f)", "nn.leaky_relu(%0, alpha=0.1f)", "multiply(%0, sigmoid(%0))",
        "multiply(sigmoid(%0), %0)"}) {
    SCOPED_TRACE(body);
    const Module module =
        graph_of("%x: Tensor[(1, 5, 4, 3), float32], %c_w: Tensor[(5, 3, 3, 3), float32]",
                 "%0 = " + last() + ";\n  " + body);
    const auto outcome = compiled(module);
    EXPECT_EQ(graphs::composites_of(outcome), std::vector<std::string>{"conv2d_epilogue"});
    graphs::expect_same_results(outcome.module, module, 2e-5, {1});
  }
}

// Where the convolution has a better engine, it is not given up for what follows.
TEST(Cudnn, LeavesToOthersWhatOnlyTheSlowestEngineDoes) {
  const Module module = graph_of(
      "%x: Tensor[(1, 5, 4, 8), float16], %c_w: Tensor[(8, 3, 3, 8), float16], "
      "%c_b: Tensor[(8), float16]",
      "sigmoid(add(" + last() + ", %c_b))");
  const auto outcome = compiled(module);
  const relay::Function& main = outcome.module.functions.at("main");
  EXPECT_TRUE(relay::is_call_of(main, main.result(), "sigmoid"));
  graphs::expect_same_results(outcome.module, module, 4e-3, {1});
}

TEST(Cudnn, TakesEnginesThatAreCompiledOnlyWhereItMay) {
  const Module module =
      graph_of("%x: Tensor[(1, 5, 4, 8), float16], %c_w: Tensor[(8, 3, 3, 8), float16]",
               "%0 = " + last() + ";\n  multiply(%0, sigmoid(%0))");
  EXPECT_EQ(graphs::composites_of(compiled(module)), std::vector<std::string>{"conv2d"});
  const auto outcome = compiled(module, Target("cudnn").with("runtime_engines", true));
  EXPECT_EQ(graphs::composites_of(outcome), std::vector<std::string>{"conv2d_epilogue"});
  EXPECT_NE(outcome.module.artifacts.at(0).payload.find("plan 7 "), std::string::npos);
  graphs::expect_same_results(outcome.module, module, 4e-3, {1});
}

TEST(Cudnn, RefusesWithASentence) {
  EXPECT_EQ(
      refusal_of("%x: Tensor[(?n, 5, 6, 8), float16], %c_w: Tensor[(8, 3, 3, 8), float16]", last()),
      "a plan of cuDNN is for known sizes, not Tensor[(?n, 5, 6, 8), float16]");
  EXPECT_EQ(
      refusal_of("%x: Tensor[(0, 5, 6, 8), float16], %c_w: Tensor[(8, 3, 3, 8), float16]", last()),
      "a tensor is empty");
  EXPECT_EQ(
      refusal_of("%x: Tensor[(1, 5, 6, 8), float64], %c_w: Tensor[(8, 3, 3, 8), float64]", last()),
      "a convolution of float64");
  EXPECT_EQ(refusal_of("%x: Tensor[(1, 5, 6, 8), int8], %w: Tensor[(8, 3, 3, 8), int8]",
                       "nn.conv2d(%x, %w, data_layout=\"NHWC\", kernel_layout=\"OHWI\", "
                       "out_dtype=\"int32\")"),
            "a convolution of int8");
  EXPECT_EQ(refusal_of("%x: Tensor[(1, 5, 6, 8), float16], %w: Tensor[(3, 3, 1, 8), float16]",
                       "nn.conv2d(%x, %w, groups=8, data_layout=\"NHWC\", kernel_layout=\"HWIO\")"),
            "there is no kernel for NHWC by HWIO to NHWC");
  const testing::Setting setting("FAKE_CUDNN_LACKS", "1");
  EXPECT_EQ(refusal_of("%x: Tensor[(1, 5, 6, 16), float16], %c_w: Tensor[(8, 3, 3, 16), float16]",
                       last()),
            "taken");  // the process that asks the library has another environment
}

std::string payload_of(const Module& module, const Target& target = Target("cudnn")) {
  return compiled(module, target).module.artifacts.at(0).payload;
}

TEST(Cudnn, SaysTheGraphAndThePlanInItsPayload) {
  const Module module = graph_of(
      "%c_b: Tensor[(8), float16], %c_w: Tensor[(8, 1, 1, 4), float16], "
      "%x: Tensor[(1, 2, 2, 4), float16]",
      "nn.relu(add(nn.conv2d(%x, %c_w, data_layout=\"NHWC\", kernel_layout=\"OHWI\"), "
      "%c_b))");
  const std::string payload = payload_of(module);
  // The plan of the first engine whose sums are as exact as the graph's.
  EXPECT_NE(payload.find("plan 10 1 2 0 3 convolution"), std::string::npos) << payload;
  EXPECT_NE(payload.find("\"cudnn_version\":[[\"91900\"]]"), std::string::npos) << payload;
  EXPECT_EQ(payload, payload_of(module));
}

// float32 is multiplied in as many digits as it has, unless an option says otherwise.
TEST(Cudnn, TakesTensorCoresForFloat32OnlyWhereItMay) {
  const Module module =
      graph_of("%x: Tensor[(1, 2, 2, 4), float32], %c_w: Tensor[(8, 1, 1, 4), float32]",
               "nn.conv2d(%x, %c_w, data_layout=\"NHWC\", kernel_layout=\"OHWI\")");
  EXPECT_NE(payload_of(module).find("plan 11 "), std::string::npos);
  const auto outcome = compiled(module, Target("cudnn").with("tf32", true));
  EXPECT_NE(outcome.module.artifacts.at(0).payload.find("plan 10 "), std::string::npos);
  EXPECT_EQ(outcome.module.externs.begin()->second.float32_precision, kFloat16);
}

TEST(Cudnn, HasAWorkspaceWhereThePlanNeedsOne) {
  const auto outcome =
      compiled(graph_of("%x: Tensor[(1, 2, 2, 4), float32], %c_w: Tensor[(8, 1, 1, 4), float32]",
                        "nn.conv2d(%x, %c_w, data_layout=\"NHWC\", kernel_layout=\"OHWI\")"));
  EXPECT_EQ(outcome.module.externs.begin()->second.workspace.bytes, 256);
}

// ---- At run time --------------------------------------------------------------------------------

class AtRunTime : public ::testing::Test {
 protected:
  AtRunTime()
      : module_(graph_of("%x: Tensor[(1, 4, 4, 8), float16], %c_w: Tensor[(8, 3, 3, 8), float16]",
                         last())),
        outcome_(compiled(module_)) {}

  // The numbers are right; what the call site has to say.
  std::string run() {
    graphs::expect_same_results(outcome_.module, module_, 4e-3, {1});
    const std::string& payload = outcome_.module.artifacts.at(0).payload;
    Instance instance;
    instance.api = library_api();
    TextBuffer error;
    EXPECT_TRUE(instance.device.open(instance.api, &error)) << error.text();
    CallSite site(instance, runtime::StateMemory(nullptr));
    EXPECT_TRUE(site.create({"cudnn_main_0", payload.data(), payload.size(), nullptr, 0}, &error))
        << error.text();
    return site.note();
  }

  Module module_;
  byoc::PartitionOutcome outcome_;
};

TEST_F(AtRunTime, TheStoredPlanIsTaken) { EXPECT_EQ(run(), ""); }

TEST_F(AtRunTime, OfAnotherVersionThePlanIsMadeAnewAndThatIsSaid) {
  const testing::Setting setting("FAKE_CUDNN_VERSION", "92000");
  EXPECT_EQ(run(),
            "the stored plan is not taken but the heuristics' first: it is of cuDNN 91900, "
            "and this is 92000");
}

TEST_F(AtRunTime, APlanThatIsRefusedIsMadeOfItsEngineAndChoices) {
  const testing::Setting setting("FAKE_CUDNN_TAKES_NO_PLAN", "1");
  EXPECT_EQ(run(), "");
}

TEST_F(AtRunTime, WithoutTheEngineIsTheHeuristicsFirstTakenAndThatIsSaid) {
  const testing::Setting setting("FAKE_CUDNN_TAKES_NO_PLAN", "1");
  const testing::Setting engine("FAKE_CUDNN_TAKES_NO_ENGINE", "1");
  EXPECT_EQ(run(),
            "the stored plan is not taken but the heuristics' first: no plan: "
            "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH");
}

TEST_F(AtRunTime, WithoutAnEngineThereIsASentence) {
  const testing::Setting version("FAKE_CUDNN_VERSION", "92000");
  const testing::Setting setting("FAKE_CUDNN_LACKS", "1");
  try {
    graphs::expect_same_results(outcome_.module, module_, 4e-3, {1});
    FAIL() << "it ran";
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find(
                  "cuDNN 92000 has no engine for it that is as exact as it must be"),
              std::string::npos)
        << e.what();
  }
}

// A plan that is made at run time may need more than the compiler's.
TEST(Cudnn, AllocatesWhatAnotherPlanNeeds) {
  const Module module =
      graph_of("%x: Tensor[(1, 2, 2, 4), float32], %c_w: Tensor[(8, 1, 1, 4), float32]",
               "nn.conv2d(%x, %c_w, data_layout=\"NHWC\", kernel_layout=\"OHWI\")");
  auto outcome = compiled(module);
  std::string& payload = outcome.module.artifacts.at(0).payload;
  const std::string declared = "\"workspace_bytes\":[[\"256\"]]";
  const std::size_t at = payload.find(declared);
  ASSERT_NE(at, std::string::npos) << payload;
  payload.replace(at, declared.size(), "\"workspace_bytes\":[[\"0\"]]");
  outcome.module.externs.begin()->second.workspace.bytes = 0;
  graphs::expect_same_results(outcome.module, module, 2e-5, {1});
}

TEST(Cudnn, TellsItsLibrary) {
  const Target target("cudnn");
  EXPECT_FALSE(cudnn_backend().available(target));
  const auto library = cudnn_backend().library(target);
  ASSERT_TRUE(library);
  EXPECT_EQ(library->version, "cuDNN 9.19.0");
  EXPECT_EQ(library->path, cudnn_backend().library_path("libcudnn.so.9"));
}

}  // namespace
}  // namespace tessera::backends::cudnn
