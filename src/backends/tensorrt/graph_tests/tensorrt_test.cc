// SPDX-License-Identifier: Apache-2.0
// Graphs as models hold them, on a stand-in of TensorRT that computes in the host's memory: that
// they are one region, and that the numbers agree; what is stored; and what is refused, when
// compiling and when a model is created. In FAKE_TENSORRT_MAJOR is which version stands in.
#include <filesystem>

#include <gtest/gtest.h>

#include "backends/tensorrt/graph_tests/stand_in.h"
#include "backends/tensorrt/installation.h"
#include "backends/testing/region_runner.h"
#include "support/files.h"

namespace tessera::backends::tensorrt {
namespace {

using testing::compiled;
using testing::engine_of;
using testing::module_of;
using testing::Setting;
using testing::thrown_by;
namespace graphs = ::tessera::backends::testing;

const testing::StandIn stand_in;

struct WholeGraph {
  const char* name;
  std::size_t regions;
  const char* text;
};
void PrintTo(const WholeGraph& c, std::ostream* out) { *out << c.name; }

const WholeGraph kWholeGraphs[] = {
    {"convolutions", 1, R"(
def @main(%x: Tensor[(2, 6, 13, 11), float32], %c_v: Tensor[(8, 6, 3, 3), float32], %c_b: Tensor[(8), float32], %c_g: Tensor[(8, 4, 3, 3), float32], %c_d: Tensor[(8, 1, 3, 5), float32], %c_t: Tensor[(8, 5, 2, 3), float32]) {
  %0 = nn.conv2d(%x, %c_v, strides=[2, 2], padding=[1, 1, 0, 2]);
  %1 = nn.relu(nn.bias_add(%0, %c_b));
  %2 = clip(nn.conv2d(%1, %c_g, groups=2, padding=[1, 1]), a_min=0, a_max=6);
  %3 = nn.conv2d(%2, %c_d, groups=8, padding=[2, 2], dilation=[2, 1]);
  %4 = add(%1, %3);
  nn.conv2d_transpose(%4, %c_t, strides=[2, 2], padding=[1, 1], output_padding=[1, 0])
})"},
    {"rows_and_volumes", 2, R"(
def @main(%x: Tensor[(2, 4, 9), float32], %c_w: Tensor[(6, 2, 3), float32], %v: Tensor[(1, 2, 4, 5, 3), float32], %c_u: Tensor[(3, 2, 2, 3, 1), float32]) {
  (nn.conv1d(%x, %c_w, groups=2, padding=[1, 2], strides=[2]), nn.max_pool3d(nn.conv3d(%v, %c_u), pool_size=[2, 1, 2]))
})"},
    {"pooling", 1, R"(
def @main(%x: Tensor[(1, 4, 11, 10), float32]) {
  %0 = nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1], ceil_mode=True);
  %1 = nn.avg_pool2d(%0, pool_size=[2, 2], padding=[1, 0, 0, 1]);
  %2 = nn.avg_pool2d(%1, pool_size=[3, 2], strides=[2, 2], padding=[1, 1], count_include_pad=True);
  (nn.global_avg_pool2d(%2), nn.global_max_pool2d(%1))
})"},
    {"activations", 1, R"(
def @main(%x: Tensor[(3, 5), float32]) {
  %0 = nn.leaky_relu(nn.elu(%x, alpha=0.5f), alpha=0.1f);
  %1 = nn.hard_sigmoid(nn.softplus(%0));
  %2 = add(sigmoid(%x), tanh(nn.gelu(%x)));
  %3 = rsqrt(add(exp(%1), abs(negative(%2))));
  %4 = multiply(sin(%3), cos(log(sqrt(%3))));
  %5 = multiply(subtract(%4, floor(%x)), ceil(%0));
  divide(subtract(%5, erf(%x)), power(%3, %1))
})"},
    {"attention", 1, R"(
def @main(%x: Tensor[(2, 7, 12), float32], %mask: Tensor[(2, 1, 1, 7), float32], %c_w: Tensor[(12, 36), float32], %c_o: Tensor[(12, 12), float32], %c_g: Tensor[(12), float32], %c_b: Tensor[(12), float32]) {
  %0 = nn.layer_norm(%x, %c_g, %c_b);
  %1 = reshape(nn.matmul(%0, %c_w, units=None), newshape=[2, 7, 3, 3, 4]);
  %2 = transpose(%1, axes=[2, 0, 3, 1, 4]);
  %3 = strided_slice(%2, begin=[0], end=[1], strides=[1], axes=[0]);
  %4 = strided_slice(%2, begin=[-2], end=[2], strides=[1], axes=[0]);
  %5 = squeeze(strided_slice(%2, begin=[2], end=[2147483647], strides=[1], axes=[0]), axis=[0]);
  %6 = nn.matmul(squeeze(%3, axis=[0]), squeeze(%4, axis=[0]), units=None, transpose_b=True);
  %7 = nn.matmul(nn.softmax(add(multiply(%6, 0.5f), %mask)), %5, units=None);
  %8 = reshape(transpose(%7, axes=[0, 2, 1, 3]), newshape=[14, 12]);
  %9 = nn.dense(%8, %c_o, units=12);
  concatenate((%9, %8, nn.gelu(%9)), axis=-1)
})"},
    {"reductions", 1, R"(
def @main(%x: Tensor[(3, 5, 2), float32], %s: float32) {
  %0 = multiply(%x, %s);
  (sum(%0), sum(%0, axis=[1], keepdims=True), mean(%0, axis=[-1]), mean(%0, axis=[0, 2]), prod(%0, axis=[1], exclude=True), nn.softmax(%0, axis=1))
})"},
    {"what_it_does_not_compute", 2, R"(
def @main(%x: Tensor[(3, 5), float32]) {
  %0 = nn.relu(%x);
  %1 = cumsum(%0, axis=1);
  tanh(%1)
})"},
};

class TensorrtGraphs : public ::testing::TestWithParam<WholeGraph> {};

TEST_P(TensorrtGraphs, ArePlacedAndAgree) {
  const Module module = graphs::parse_graph(GetParam().text);
  const auto outcome = compiled(module);
  EXPECT_EQ(outcome.regions.size(), GetParam().regions);
  graphs::expect_same_results(outcome.module, module, 1e-4, {1});
}

INSTANTIATE_TEST_SUITE_P(Cases, TensorrtGraphs, ::testing::ValuesIn(kWholeGraphs),
                         [](const auto& info) { return info.param.name; });

// ---- What is stored ----------------------------------------------------------------------------

TEST(Tensorrt, TheEngineStandsInTheLibraryAsBytes) {
  const Module module = module_of("nn.softmax(nn.relu(%x))");
  const auto outcome = compiled(module);
  const std::vector<Artifact>& artifacts = outcome.module.artifacts;
  ASSERT_EQ(artifacts.size(), 2u);
  EXPECT_TRUE(artifacts[0].payload.starts_with(fmt::format("stand-in {}\n", stand_in.number)))
      << artifacts[0].payload;
  EXPECT_EQ(artifacts[0].kind, ArtifactKind::kRuntimeModule);
  EXPECT_EQ(artifacts[0].vendor_libraries, std::vector<std::string>{stand_in.file});
  EXPECT_EQ(artifacts[1].kind, ArtifactKind::kStaticLibrary) << "the shim that runs it";
  EXPECT_TRUE(engine_of(module) == artifacts[0].payload) << "made again";
}

TEST(Tensorrt, LoadingBuildsNothing) {
  const Module module = module_of("tanh(%x)");
  const auto outcome = compiled(module);
  const Setting setting("FAKE_TENSORRT_NO_DEVICE", "1");
  graphs::expect_same_results(outcome.module, module, 1e-5, {1});
}

TEST(Tensorrt, OptionsReachTheBuilder) {
  const Module module = module_of("nn.relu(%x)");
  const auto has = [&](const Target& target, const std::string& line) {
    return engine_of(module, target).find(line) != std::string::npos;
  };
  const Target target("tensorrt");
  EXPECT_TRUE(has(target, "flags=0 workspace=1073741824\n")) << engine_of(module);
  // From 11 on types are the graph's.
  const char* with_fp16 = stand_in.major == "11" ? "flags=0 " : "flags=1 ";
  EXPECT_TRUE(has(target.with("use_fp16", true), with_fp16));
  EXPECT_TRUE(has(target.with("tf32", true), "flags=2 "));
  EXPECT_TRUE(has(target.with("max_workspace_size", std::int64_t{4096}), "workspace=4096\n"));
  const auto of = [&](const Target& t) {
    return compiled(module, t).module.externs.begin()->second.float32_precision;
  };
  EXPECT_EQ(of(target), kFloat32);
  EXPECT_EQ(of(target.with("tf32", true)), kFloat16);
}

TEST(Tensorrt, TakesFloat16WhereItMay) {
  const Module module = module_of("nn.gelu(nn.relu(%x))", "float16");
  const auto outcome = compiled(module, Target("tensorrt").with("use_fp16", true));
  EXPECT_EQ(outcome.regions.size(), 1u);
  graphs::expect_same_results(outcome.module, module, 4e-3, {1});
}

// ---- What is refused ---------------------------------------------------------------------------

std::string refusal_of(const std::string& parameters, const std::string& body,
                       const Target& target = Target("tensorrt")) {
  const Module module =
      graphs::parse_graph(fmt::format("\ndef @main({}) {{\n{}\n}}", parameters, body));
  const byoc::BackendChoice choices[] = {{&tensorrt_backend(), target}};
  const auto outcome = byoc::partition_greedy(module, choices);
  EXPECT_TRUE(outcome);
  return outcome->refusals.empty() ? "taken" : outcome->refusals.front().reason;
}

TEST(Tensorrt, RefusesWithASentence) {
  EXPECT_EQ(refusal_of("%x: Tensor[(?n, 4), float32]", "nn.relu(%x)"),
            "an engine of TensorRT is for known sizes, not Tensor[(?n, 4), float32]");
  EXPECT_EQ(refusal_of("%x: Tensor[(0, 4), float32]", "nn.relu(%x)"), "a tensor is empty");
  EXPECT_EQ(refusal_of("%x: Tensor[(3), float64]", "nn.relu(%x)"),
            "data type float64 is not float32");
  EXPECT_EQ(refusal_of("%x: Tensor[(3), float16]", "nn.relu(%x)"),
            "float16 is taken with -use_fp16=true alone");
  EXPECT_EQ(refusal_of("%x: Tensor[(1, 5, 6, 8), float32], %c_w: Tensor[(8, 3, 3, 8), float32]",
                       "nn.conv2d(%x, %c_w, data_layout=\"NHWC\", kernel_layout=\"OHWI\")"),
            "the layout NHWC is not NCHW");
  EXPECT_EQ(refusal_of("%x: Tensor[(4, 3), float32]",
                       "strided_slice(%x, begin=[3], end=[0], "
                       "strides=[-1], axes=[0])"),
            "a slice that goes backwards");
}

// TensorRT does not say that its maxima keep NaN.
TEST(Tensorrt, MaximaAreLeftToOthers) {
  EXPECT_TRUE(compiled(module_of("maximum(max(%x, axis=[1], keepdims=True), minimum(%x, min(%x)))"))
                  .regions.empty());
}

TEST(Tensorrt, WeightsMustBeConstant) {
  EXPECT_TRUE(compiled(graphs::parse_graph(R"(
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  nn.dense(%x, %w, units=4)
})"))
                  .regions.empty());
}

TEST(Tensorrt, RegionsWithoutProductsAreUndoneOnDemand) {
  const Target target = Target("tensorrt").with("remove_no_mac_subgraphs", true);
  EXPECT_EQ(refusal_of("%x: Tensor[(3), float32]", "tanh(nn.relu(%x))", target),
            "the region has no multiply-accumulate work (-remove_no_mac_subgraphs)");
  EXPECT_EQ(refusal_of("%x: Tensor[(2, 3), float32], %c_w: Tensor[(4, 3), float32]",
                       "tanh(nn.dense(%x, %c_w, units=4))", target),
            "taken");
}

TEST(Tensorrt, WithoutADeviceCompilingEndsWithASentence) {
  const Setting setting("FAKE_TENSORRT_NO_DEVICE", "1");
  const std::string why = thrown_by([] { compiled(module_of("nn.relu(%x)")); });
  EXPECT_NE(why.find("TensorRT makes no builder, which needs the device: there is no device"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("compile on the machine with the device"), std::string::npos) << why;
}

// What creating an instance says.
std::string error_of(const Module& module) {
  const graphs::CompiledModule code(module);
  return thrown_by(
      [&] { graphs::RegionRunner(module, code, module.artifacts.front().symbols.front(), 1); });
}

TEST(Tensorrt, AnotherVersionIsRefusedAtLoad) {
  const Module module = compiled(module_of("nn.relu(%x)")).module;
  const Setting setting("FAKE_TENSORRT_VERSION", "100800");
  const std::string why = error_of(module);
  EXPECT_NE(
      why.find(fmt::format("it was compiled for TensorRT {}, and the {} that is loaded has the "
                           "version number 100800",
                           stand_in.version, stand_in.file)),
      std::string::npos)
      << why;
}

TEST(Tensorrt, AnEngineThatIsNoneIsRefusedAtLoad) {
  Module module = compiled(module_of("nn.relu(%x)")).module;
  module.artifacts.front().payload.resize(20);
  const std::string why = error_of(module);
  EXPECT_NE(why.find("TensorRT does not take the engine of `tensorrt_main_0`"), std::string::npos)
      << why;
  EXPECT_NE(why.find("these bytes are no engine"), std::string::npos) << why;
}

// ---- What is found -----------------------------------------------------------------------------

std::string lack_of(const std::string& root) {
  const auto found = find_installation(root);
  return found ? "nothing" : found.error().reason;
}

TEST(Tensorrt, TellsItsLibrary) {
  const Target target("tensorrt");
  EXPECT_FALSE(tensorrt_backend().available(target));
  EXPECT_EQ(tensorrt_backend().library(target)->version, "TensorRT " + stand_in.version);
  EXPECT_NE(tensorrt_backend().library(target)->note.find("not measured"), std::string::npos);
  EXPECT_EQ(tensorrt_backend().library(target)->path,
            std::filesystem::weakly_canonical(stand_in.root + "/lib/" + stand_in.file));
  EXPECT_FALSE(tensorrt_backend().default_target(Target()));
  using Ints = std::vector<std::int64_t>;
  const Ints found = installation()->version;
  EXPECT_FALSE(tensorrt_backend().available(target.with("tensorrt_version", Ints{found[0]})));
  EXPECT_FALSE(tensorrt_backend().available(target.with("tensorrt_version", found)));
  EXPECT_TRUE(tensorrt_backend().available(target.with("tensorrt_version", Ints{9, 1})));
}

TEST(Tensorrt, SaysWhatIsMissing) {
  EXPECT_NE(lack_of("").find("name its folder, which has include/NvInfer.h, in TENSORRT_ROOT"),
            std::string::npos);
  EXPECT_EQ(lack_of("/nowhere").find("/nowhere/include has no NvInfer.h"), 0u);
  auto folder = TempDir::make("tensorrt-test");
  ASSERT_TRUE(folder);
  std::filesystem::create_directory(folder->file("include"));
  const auto write = [&](const std::string& version) {
    ASSERT_TRUE(write_atomically(folder->file("include/NvInfer.h"), ""));
    ASSERT_TRUE(write_atomically(folder->file("include/NvInferVersion.h"), version));
  };
  const auto header = [](int major, int minor) {
    return fmt::format(
        "#define NV_TENSORRT_MAJOR {} //!< a\n#define NV_TENSORRT_MINOR {}\n"
        "#define NV_TENSORRT_PATCH 0\n",
        major, minor);
  };
  write(header(8, 5));
  EXPECT_NE(lack_of(folder->path()).find("are those of TensorRT 8.5.0"), std::string::npos);
  write(header(12, 0));
  EXPECT_NE(lack_of(folder->path()).find("are those of TensorRT 12.0.0"), std::string::npos);
  write(header(9, 1));
  EXPECT_NE(lack_of(folder->path()).find("but libnvinfer.so.9 was not found"), std::string::npos);
  // The library of the stand-in, by way of TESSERA_LIBRARY_PATH.
  write(header(std::stoi(stand_in.major), 8));
  EXPECT_NE(lack_of(folder->path())
                .find(fmt::format("{} is TensorRT {}, and the headers in", stand_in.file,
                                  stand_in.version)),
            std::string::npos)
      << lack_of(folder->path());
}

}  // namespace
}  // namespace tessera::backends::tensorrt
