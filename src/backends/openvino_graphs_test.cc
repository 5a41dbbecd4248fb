// SPDX-License-Identifier: Apache-2.0
// Graphs as models hold them: that they are one region, and that the numbers agree; and what is
// refused, when compiling and when a model is created.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/openvino/openvino.h"
#include "backends/testing/graph_case.h"
#include "backends/testing/region_runner.h"
#include "support/testing/requirement.h"

namespace tessera::backends {
namespace {

struct WholeGraph {
  const char* name;
  std::size_t regions;
  const char* text;
};

void PrintTo(const WholeGraph& c, std::ostream* out) { *out << c.name; }

const WholeGraph kWholeGraphs[] = {
    {"convolutions", 1, R"(
def @main(%x: Tensor[(2, 6, 13, 11), float32], %c_v: Tensor[(8, 6, 3, 3), float32], %c_b: Tensor[(8), float32], %c_g: Tensor[(8, 4, 3, 3), float32], %c_d: Tensor[(8, 1, 3, 5), float32], %c_t: Tensor[(8, 5, 2, 2), float32]) {
  %0 = nn.conv2d(%x, %c_v, strides=[2, 2], padding=[1, 1, 0, 2]);
  %1 = nn.relu(nn.bias_add(%0, %c_b));
  %2 = clip(nn.conv2d(%1, %c_g, groups=2, padding=[1, 1]), a_min=0, a_max=6);
  %3 = nn.conv2d(%2, %c_d, groups=8, padding=[2, 2], dilation=[2, 1]);
  %4 = add(%1, %3);
  nn.conv2d_transpose(%4, %c_t, strides=[2, 2], output_padding=[1, 0])
})"},
    {"pooling", 1, R"(
def @main(%x: Tensor[(1, 4, 11, 10), float32]) {
  %0 = nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1], ceil_mode=True);
  %1 = nn.avg_pool2d(%0, pool_size=[2, 2], padding=[1, 0, 0, 1]);
  %2 = nn.avg_pool2d(%1, pool_size=[3, 2], strides=[2, 2], padding=[1, 1], count_include_pad=True);
  (nn.global_avg_pool2d(%2), nn.global_max_pool2d(%1))
})"},
    {"split_and_concatenate", 1, R"(
def @main(%x: Tensor[(2, 9, 5), float32]) {
  %0 = split(%x, indices_or_sections=[2, 5], axis=1);
  %1 = sigmoid(%0.0);
  %2 = concatenate((%0.2, %1, %0.1, %1), axis=1);
  %3 = split(%2, indices_or_sections=11, axis=1);
  (stack((%3.0, %3.10), axis=-1), tanh(%2), %0.1)
})"},
    {"attention", 1, R"(
def @main(%x: Tensor[(2, 7, 12), float32], %mask: Tensor[(2, 1, 1, 7), bool], %c_w: Tensor[(12, 36), float32], %c_o: Tensor[(12, 12), float32], %c_g: Tensor[(12), float32], %c_b: Tensor[(12), float32]) {
  %0 = nn.layer_norm(%x, %c_g, %c_b);
  %1 = reshape(nn.matmul(%0, %c_w, units=None), newshape=[2, 7, 3, 3, 4]);
  %2 = transpose(%1, axes=[2, 0, 3, 1, 4]);
  %3 = split(%2, indices_or_sections=3);
  %4 = nn.matmul(squeeze(%3.0, axis=[0]), squeeze(%3.1, axis=[0]), units=None, transpose_b=True);
  %5 = where(%mask, multiply(%4, 0.5f), -10000f);
  %6 = nn.matmul(nn.softmax(%5), squeeze(%3.2, axis=[0]), units=None);
  %7 = reshape(transpose(%6, axes=[0, 2, 1, 3]), newshape=[2, 7, 12]);
  %8 = add(%x, nn.dense(%7, %c_o, units=12));
  multiply(nn.gelu(%8), sigmoid(%8))
})"},
    {"moved_elements", 1, R"(
def @main(%x: Tensor[(1, 4, 6, 5), float32], %c_s: Tensor[(4), float32], %c_i: Tensor[(6), int32]) {
  %0 = strided_slice(%x, begin=[-1, 1], end=[-9223372036854775807, 100], strides=[-2, 2], axes=[2, 3]);
  %1 = nn.pad(%0, pad_width=[[0, 0], [0, 0], [1, 2], [2, 1]], pad_mode="edge");
  %2 = image.resize(%1, size=[1, 4, 12, 10], method="nearest", coordinate_transformation_mode="asymmetric", rounding_method="floor");
  %3 = image.resize(%1, size=[1, 4, 9, 7]);
  %4 = take(%3, %c_i, axis=2);
  (nn.depth_to_space(%2, block_size=2), nn.prelu(%4, %c_s), broadcast_to(%0, shape=[2, 4, 3, 2]))
})"},
    // Which 2026.4 exports without a part of it (export_check.h).
    {"rotary_embedding", 1, R"(
def @main(%x: Tensor[(2, 3, 5, 16), float32], %c: Tensor[(2, 5, 8), float32], %s: Tensor[(2, 5, 8), float32]) {
  %0 = strided_slice(%x, begin=[0], end=[8], strides=[1], axes=[3]);
  %1 = strided_slice(%x, begin=[8], end=[16], strides=[1], axes=[3]);
  %2 = expand_dims(%c, axis=1);
  %3 = expand_dims(%s, axis=1);
  %4 = subtract(multiply(%0, %2), multiply(%1, %3));
  concatenate((%4, add(multiply(%0, %3), multiply(%1, %2))), axis=3)
})"},
    {"scalars", 2, R"(
def @main(%x: Tensor[(3, 5), float32], %s: float32) {
  %0 = multiply(%x, %s);
  (sum(%0), max(%0, axis=[1], keepdims=True), less(%0, %s), exp(%s))
})"},
    {"what_it_does_not_compute", 2, R"(
def @main(%x: Tensor[(3, 5), float32]) {
  %0 = nn.relu(%x);
  %1 = cumsum(%0, axis=1);
  tanh(%1)
})"},
};

class OpenvinoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Target target("openvino");
    if (!::tessera::testing::is_there("openvino", !openvino_backend().available(target))) {
      GTEST_SKIP() << "OpenVINO is not there";
    }
  }
  static byoc::PartitionOutcome compiled(const Module& module) {
    const byoc::BackendChoice choices[] = {{&openvino_backend(), Target("openvino")}};
    return testing::compile_graph(module, choices);
  }
  static Module module_of(const std::string& body) {
    return testing::parse_graph("\ndef @main(%x: Tensor[(4, 6), float32]) {\n" + body + "\n}");
  }
  // What creating an instance says of the first region's payload after a change.
  static std::string error_after(const std::function<void(std::string&)>& change) {
    Module module = compiled(module_of("nn.relu(%x)")).module;
    change(module.artifacts.front().payload);
    const testing::CompiledModule code(module);
    try {
      testing::RegionRunner(module, code, module.artifacts.front().symbols.front(), 1);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }
};

class OpenvinoGraphs : public OpenvinoTest, public ::testing::WithParamInterface<WholeGraph> {};

TEST_P(OpenvinoGraphs, ArePlacedAndAgree) {
  const Module module = testing::parse_graph(GetParam().text);
  const auto outcome = compiled(module);
  EXPECT_EQ(outcome.regions.size(), GetParam().regions);
  testing::expect_same_results(outcome.module, module);
}

INSTANTIATE_TEST_SUITE_P(Cases, OpenvinoGraphs, ::testing::ValuesIn(kWholeGraphs),
                         [](const auto& info) { return info.param.name; });

// Whatever was compiled before.
TEST_F(OpenvinoTest, EqualRegionsAreEqualBytes) {
  const Module one = module_of("nn.softmax(nn.relu(%x))");
  const std::string first = compiled(one).module.artifacts.front().payload;
  compiled(module_of("tanh(exp(%x))"));
  EXPECT_TRUE(compiled(one).module.artifacts.front().payload == first);
}

TEST_F(OpenvinoTest, AnotherVersionIsRefused) {
  const std::string error = error_after([](std::string& payload) { payload[0] = '1'; });
  EXPECT_NE(error.find("it was compiled by OpenVINO 1"), std::string::npos) << error;
  EXPECT_NE(error.find("compile the model again"), std::string::npos) << error;
}

TEST_F(OpenvinoTest, AnotherCpuIsRefused) {
  const std::string error = error_after([](std::string& payload) {
    const std::size_t cpu = payload.find(";isa=");
    ASSERT_NE(cpu, std::string::npos) << "OpenVINO tells CPUs apart in another way";
    payload[cpu + 5] ^= 1;
  });
  EXPECT_NE(error.find("OpenVINO does not take what it made when the model was compiled"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("cannot be executed on this device"), std::string::npos) << error;
  EXPECT_EQ(error.find("Exception from"), std::string::npos) << error;
}

TEST_F(OpenvinoTest, APayloadThatIsNoneIsRefused) {
  EXPECT_NE(error_after([](std::string& payload) {
              payload.resize(40);
            }).find("holds nothing that OpenVINO made"),
            std::string::npos);
  EXPECT_NE(error_after([](std::string& payload) { payload.resize(payload.size() / 2); }), "");
}

// What it computes with fewer digits than the operator says.
TEST_F(OpenvinoTest, OtherTypesAreRefused) {
  const Module module = testing::parse_graph(R"(
def @main(%x: Tensor[(3, 4), float64], %y: Tensor[(3), int64], %z: Tensor[(3), int32]) {
  (nn.relu(%x), cast(%y, dtype="float32"), add(%z, %z), reshape(%y, newshape=[3, 1]))
})");
  const byoc::BackendChoice choices[] = {{&openvino_backend(), Target("openvino")}};
  const auto outcome = byoc::partition_greedy(module, choices);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->regions.empty());
  ASSERT_EQ(outcome->refusals.size(), 4u);
  for (const auto& refusal : outcome->refusals) {
    EXPECT_NE(refusal.reason.find(refusal.op == "cast" ? "another conversion" : "is not computed"),
              std::string::npos)
        << refusal.reason;
  }
}

// A field is taken with the operator that makes it.
TEST_F(OpenvinoTest, FieldsOfOtherTuplesAreLeft) {
  const Module module = testing::parse_graph(R"(
def @main(%x: Tensor[(3), float32], %y: float32) {
  %0 = fn (%a: Tensor[(3), float32], %b: float32, Compiler="nobody", global_symbol="f") {
    (%b, (%a, %b))
  };
  %1 = %0(%x, %y);
  %2 = %1.1;
  (%2.0, %1.0)
})");
  const byoc::BackendChoice choices[] = {{&openvino_backend(), Target("openvino")}};
  const auto outcome = byoc::partition_greedy(module, choices);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->regions.empty());
}

// OpenVINO finds that these are their inputs, and writes nothing.
TEST_F(OpenvinoTest, ResultsThatAreInputsAreNotLeftAsTheyWere) {
  for (const char* text :
       {"cast(%x, dtype=\"float32\")", "reshape(%x, newshape=[6])", "reshape(%x, newshape=[2, 3])",
        "transpose(%x, axes=[0, 1])", "(nn.relu(%x), cast(%x, dtype=\"float32\"))",
        "expand_dims(%x, axis=0)",
        "strided_slice(%x, begin=[0, 0], end=[2, 3], strides=[1, 1], axes=[0, 1])"}) {
    const Module module = testing::parse_graph(
        fmt::format("\ndef @main(%x: Tensor[(2, 3), float32]) {{\n  {}\n}}", text));
    testing::expect_same_results(compiled(module).module, module);
  }
}

// An empty image gives one element here: OpenVINO counted two.
TEST_F(OpenvinoTest, TransposedConvolutionsOfImagesThatMayBeEmptyAreLeft) {
  const auto regions_of = [](const char* type) {
    const Module module = testing::parse_graph(
        fmt::format("\ndef @main(%x: Tensor[({}), float32], %w: Tensor[(2, 3, 2), float32]) {{\n"
                    "  nn.conv1d_transpose(%x, %w, padding=[0, 1], dilation=[2])\n}}",
                    type));
    const byoc::BackendChoice choices[] = {{&openvino_backend(), Target("openvino")}};
    return byoc::partition_greedy(module, choices)->regions.size();
  };
  EXPECT_EQ(regions_of("2, 2, ?m"), 0);
  EXPECT_EQ(regions_of("?b, 2, 5"), 1);
}

TEST_F(OpenvinoTest, ItsLibrariesCannotBeOpenedFromMemory) {
  EXPECT_FALSE(openvino_backend().loads_from_memory());
}

}  // namespace
}  // namespace tessera::backends
