// SPDX-License-Identifier: Apache-2.0
// Tasks, the search on a stand-in of library and device, and what is made of records.
#include "backends/cudnn/compiler/tuning.h"

#include <gtest/gtest.h>

#include "backends/cudnn/compiler/convolution.h"
#include "backends/cudnn/compiler/describe.h"
#include "backends/cudnn/compiler/search.h"
#include "backends/cudnn/cudnn.h"
#include "backends/cudnn/graph_tests/graphs.h"
#include "backends/cudnn/testing/fake.h"
#include "backends/testing/compiled_module.h"
#include "backends/testing/graph_case.h"
#include "byoc/composite_match.h"
#include "byoc/placer.h"

namespace tessera::backends::cudnn {
namespace {

namespace graphs = ::tessera::backends::testing;

const testing::FakeLibrary fake_library(TESSERA_FAKE_CUDNN_FOLDER);

constexpr const char* kTwoLayers = R"(
def @main(%x: Tensor[(2, 6, 5, 8), float16], %c_w: Tensor[(8, 3, 3, 8), float16],
          %c_v: Tensor[(8, 3, 3, 8), float16], %c_u: Tensor[(4, 1, 1, 8), float16],
          %c_b: Tensor[(8), float16]) {
  %0 = nn.relu(add(nn.conv2d(%x, %c_w, padding=[1, 1], data_layout="NHWC", kernel_layout="OHWI"), %c_b));
  %1 = nn.relu(add(nn.conv2d(%0, %c_v, padding=[1, 1], data_layout="NHWC", kernel_layout="OHWI"), %c_b));
  nn.conv2d(%1, %c_u, data_layout="NHWC", kernel_layout="OHWI")
})";

Module partitioned(const std::string& text) {
  const byoc::BackendChoice choices[] = {{&cudnn_backend(), Target("cudnn")}};
  auto outcome = byoc::partition_greedy(graphs::parse_graph(text), choices);
  if (!outcome) throw std::runtime_error(render(outcome.error()));
  return std::move(outcome->module);
}

TEST(CudnnTuning, EqualWorkIsOneTask) {
  const auto tasks = tuning_tasks(partitioned(kTwoLayers), Target("cudnn"));
  ASSERT_EQ(tasks.size(), 2u);
  const auto& layer = tasks[0].uses == 2 ? tasks[0] : tasks[1];
  EXPECT_EQ(layer.uses, 2u);
  EXPECT_EQ(layer.title, "2x8x6x5 by 8x8x3x3 strides 1x1 float16: nn.conv2d, add, nn.relu");
  EXPECT_EQ(layer.workload.text(),
            "convolution float16 2x8x6x5@240,1,40,8 by 8x8x3x3@72,1,24,8 to 2x8x6x5@240,1,40,8 "
            "stride 1 dilation 1 padding 1,1 stride 1 dilation 1 padding 1,1 add "
            "2:1x8x1x1@8,1,8,8 relu");
  EXPECT_EQ(layer.version, "1, cuDNN 9.19.0");
  EXPECT_EQ(layer.device, "sm_90a 132 ");
  EXPECT_TRUE(layer.search);
}

struct Told final : byoc::SearchReport {
  void found(std::size_t way, std::string_view configuration) override {
    names[way] = configuration;
  }
  void begins(std::size_t) override {}
  void wrong(std::size_t way, std::string_view why) override { faults[way] = why; }
  void timed(std::size_t way, double median_us, double) override { us[way] = median_us; }
  void done() override { is_done = true; }

  std::map<std::size_t, std::string> names, faults;
  std::map<std::size_t, double> us;
  bool is_done = false;
};

View view(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return {{n, c, h, w}, {c * h * w, 1, w * c, c}};
}

Convolution convolution(DType dtype) {
  Convolution c;
  c.dtype = dtype;
  c.operands = {{{}, dtype, view(2, 6, 5, 4)},
                {{}, dtype, view(4, 3, 3, 2)},
                {{}, dtype, view(1, 4, 1, 1)},
                {{}, dtype, view(2, 4, 3, 3)}};
  c.window = {{3, 2, 1, 1, 1}, {2, 2, 2, 1, 1}};
  c.result = view(2, 4, 3, 2);
  c.operands[3].view = c.result;
  c.steps = {{"add", 3}, {"add", 2}, {"relu"}};
  return c;
}

Told search(const Convolution& c, double seconds = 1, std::size_t most_ways = 32) {
  Told told;
  byoc::Search search;
  search.seconds = seconds;
  search.most_ways = most_ways;
  search_plans(region_of(c), "sm_90a", testing::fake_device(), search, told);
  return told;
}

TEST(CudnnSearch, ChecksAndTimesEachConfiguration) {
  const Told told = search(convolution(kFloat16), 10);
  EXPECT_TRUE(told.is_done);
  // Without the engine whose sums are of reduced precision.
  EXPECT_EQ(told.names, (std::map<std::size_t, std::string>{
                            {0, "10:2=0"}, {1, "10:2=1"}, {2, "10:2=2"}, {3, "11:"}}));
  ASSERT_EQ(told.faults.size(), 1u);
  EXPECT_NE(told.faults.at(1).find("it computes wrong numbers"), std::string::npos);
  EXPECT_EQ(told.us, (std::map<std::size_t, double>{{0, 20}, {2, 10}, {3, 40}}));
}

TEST(CudnnSearch, LooksAtTheFirstWaysIfMoreAreNotWanted) {
  const Told told = search(convolution(kFloat16), 10, 2);
  EXPECT_TRUE(told.is_done);
  EXPECT_EQ(told.names, (std::map<std::size_t, std::string>{{0, "10:2=0"}, {1, "10:2=1"}}));
}

TEST(CudnnSearch, KnowsAllSteps) {
  const std::vector<std::vector<Step>> all = {
      {{"swish"}, {"gelu"}, {"elu", {}, {{"alpha", 0.5}}}, {"relu", {}, {{"slope", 0.1}}}},
      {{"sigmoid"}, {"mul", 3}, {"tanh"}},
      {{"relu", {}, {{"lower_clip", 0}, {"upper_clip", 0.5}}}}};
  for (const std::vector<Step>& steps : all) {
    Convolution c = convolution(kFloat32);
    c.steps.insert(c.steps.end() - 1, steps.begin(), steps.end());
    c.steps.pop_back();
    const Told told = search(c);
    EXPECT_TRUE(told.faults.empty()) << steps[0].mode << ": " << told.faults.begin()->second;
    EXPECT_EQ(told.us.size(), 1u) << steps[0].mode;
  }
}

// The region that a graph of one composite becomes.
Region region_of_graph(const std::string& parameters, const std::string& body) {
  const Target target = testing::compiling();
  const byoc::BackendChoice choices[] = {{&cudnn_backend(), target}};
  const auto placed = byoc::partition_greedy(testing::graph_of(parameters, body), choices);
  const Module& module = placed->module;
  const relay::Function& f = module.functions.at(placed->regions.at(0).symbol);
  return *describe(*byoc::composite_match(f, module.constants), target);
}

TEST(CudnnSearch, KnowsAttentionAndNorms) {
  const Region regions[] = {
      region_of_graph("%q: Tensor[(6, 10, 8), float16], %k: Tensor[(6, 12, 8), float16], "
                      "%v: Tensor[(6, 12, 8), float16], %m: Tensor[(6, 1, 12), float16]",
                      "nn.matmul(nn.softmax(add(nn.batch_matmul(%q, %k, transpose_b=True), %m), "
                      "axis=2), %v, units=None)"),
      // Read in three places.
      region_of_graph("%q: Tensor[(6, 10, 8), float16]",
                      "nn.matmul(nn.softmax(nn.batch_matmul(%q, %q, transpose_b=True), axis=2), "
                      "%q, units=None)"),
      // Queries are the first half of each row.
      region_of_graph(
          "%q: Tensor[(2, 10, 16), float16], %k: Tensor[(2, 12, 8), float16], "
          "%v: Tensor[(2, 12, 8), float16]",
          "%0 = transpose(reshape(strided_slice(%q, begin=[0], end=[8], strides=[1], axes=[2]), "
          "newshape=[2, 10, 1, 8]), axes=[0, 2, 1, 3]);\n"
          "  %1 = transpose(reshape(%k, newshape=[2, 12, 1, 8]), axes=[0, 2, 3, 1]);\n"
          "  %2 = transpose(reshape(%v, newshape=[2, 12, 1, 8]), axes=[0, 2, 1, 3]);\n"
          "  nn.matmul(nn.softmax(nn.matmul(%0, %1, units=None), axis=3), %2, units=None)"),
      region_of_graph("%x: Tensor[(3, 5, 24), float16], %g: Tensor[(24), float16], %b: "
                      "Tensor[(24), float16]",
                      "nn.layer_norm(%x, %g, %b, epsilon=0.5f)"),
      region_of_graph("%x: Tensor[(4, 33), float32], %g: Tensor[(33), float32]",
                      "nn.rms_norm(%x, %g)")};
  for (const Region& region : regions) {
    SCOPED_TRACE(region.workload);
    Told told;
    byoc::Search search;
    search.seconds = 0.2;
    search_plans(region, "sm_90a", testing::fake_device(), search, told);
    EXPECT_TRUE(told.is_done);
    EXPECT_TRUE(told.faults.empty()) << told.faults.begin()->second;
    EXPECT_EQ(told.names, (std::map<std::size_t, std::string>{{0, "7:"}}));
    EXPECT_EQ(told.us.size(), 1u);
  }
  EXPECT_EQ(regions[0].sizes, "6 x 1 heads of 8, 10 queries, 12 keys, masked");
  EXPECT_EQ(regions[3].workload,
            "layer norm float16 15x24x1x1@24,1,24,24 by float16 epsilon 0.5 runtime engines");
}

TEST(CudnnSearch, SaysThatThereIsNoEngine) {
  const testing::Setting setting("FAKE_CUDNN_LACKS", "1");
  const Told told = search(convolution(kFloat16));
  EXPECT_TRUE(told.is_done);
  EXPECT_EQ(told.names.at(0), "none");
  EXPECT_EQ(told.faults.at(0), "cuDNN has no engine for it that is as exact as it must be");
}

// ---- What is made of records --------------------------------------------------------------------

struct Recorded final : byoc::Measurements {
  Result<byoc::Ranking> ranking(std::string_view, std::string_view, std::string_view,
                                const byoc::Workload&) const override {
    return known;
  }
  byoc::Ranking known;
};

std::string chosen(const byoc::Ranking& known) {
  Recorded recorded;
  recorded.known = known;
  byoc::CompileContext context{graphs::test_toolchain(), 1, true, {}, &recorded};
  const auto plan = choose(region_of(convolution(kFloat16)), Target("cudnn"), context);
  if (!plan) return render(plan.error());
  return *plan ? (*plan)->configuration : (*plan).error().reason;
}

TEST(CudnnRecords, TheFastestOfWhichAPlanIsMadeIsTaken) {
  EXPECT_EQ(chosen({}), "10:2=0");
  EXPECT_EQ(chosen({{"10:2=2", "10:2=0"}, {}, {}}), "10:2=2");
  EXPECT_EQ(chosen({{"nonsense", "11:"}, {}, {}}), "11:");
  // What is known to be wrong is not taken without a word.
  EXPECT_EQ(chosen({{}, {}, {{"10:2=0", "it computes wrong numbers", false}}}),
            "the records say that `10:2=0` cannot be used: it computes wrong numbers");
  EXPECT_EQ(chosen({{}, {}, {{"none", "cuDNN has no engine", false}}}),
            "the records say that `none` cannot be used: cuDNN has no engine");
}

}  // namespace
}  // namespace tessera::backends::cudnn
