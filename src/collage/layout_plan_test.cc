// SPDX-License-Identifier: Apache-2.0
// Layouts by costs that a test states: a back end takes convolutions with channels last alone, and
// everything else is generated code, in either layout.
#include "collage/layout_plan.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "collage/testing/stated_costs.h"
#include "ops/inference/infer_types.h"
#include "passes/testing/text.h"

namespace tessera::collage {
namespace {

using testing::operators_of;
using testing::PatternsOnly;
using testing::StatedCosts;

constexpr const char* kThreeConvolutions = R"(
def @main(%x: Tensor[(1, 8, 6, 6), float32], %w: Tensor[(8, 8, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = nn.softmax(%1);
  %3 = nn.conv2d(%2, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %4 = nn.relu(%3);
  %5 = nn.conv2d(%4, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  add(%5, %4)
})";

std::optional<relay::Refusal> channels_last_alone(const relay::Match& match, const Target&) {
  const auto* call = match.function->as<relay::OpCall>(match.root);
  if (call->attrs.string_or_empty("data_layout") == "NHWC") return std::nullopt;
  return relay::Refusal{"channels are not last"};
}

bool has_channels_last(const relay::Function& f) {
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const auto* call = f.as<relay::OpCall>(relay::NodeId(i));
    if (call != nullptr && call->attrs.string_or_empty("data_layout") == "NHWC") return true;
  }
  return false;
}

// Seconds of programs: of convolutions by who runs them and their layout, of transposes, of others.
struct Seconds {
  double vendor = 1, native = 5, native_last = 9, conversion = 1, other = 0.5;
};

class Stated final : public CostEstimator {
 public:
  explicit Stated(Seconds seconds) : seconds_(seconds) {}
  Result<Cost> estimate(const CandidateProgram& program) override {
    const relay::Function& f = program.module.functions.at("main");
    const std::string operators = operators_of(f);
    ++asked[operators];
    if (operators.find("nn.conv2d") == std::string::npos) {
      return Cost::of(operators == "transpose" ? seconds_.conversion : seconds_.other);
    }
    if (program.target.name() != "cpu") return Cost::of(seconds_.vendor);
    return Cost::of(has_channels_last(f) ? seconds_.native_last : seconds_.native);
  }
  std::map<std::string, int> asked;

 private:
  Seconds seconds_;
};

class LayoutPlanTest : public ::testing::Test {
 protected:
  LayoutPlanTest()
      : vendor_(
            "onednn",
            {{"onednn.conv2d", relay::is_op("nn.conv2d", {relay::wildcard(), relay::wildcard()}),
              channels_last_alone}},
            byoc::FusionStyle::kOneComposite) {}

  LayoutPlanner planner(const std::string& text,
                        std::vector<Layouts> layouts = {{"nn.conv2d:NHWC"}}) {
    module_ = passes::testing::module_of(text);
    auto made = LayoutPlanner::make(module_, "main", {{&vendor_, Target("onednn")}},
                                    std::move(layouts), Target("cpu"), false);
    EXPECT_TRUE(made) << render(made.error());
    return *std::move(made);
  }
  LayoutPlan planned(const std::string& text, Seconds seconds,
                     std::vector<Layouts> layouts = {{"nn.conv2d:NHWC"}}) {
    LayoutPlanner p = planner(text, std::move(layouts));
    Stated costs(seconds);
    const auto estimated =
        p.estimate(costs, [](Module m) { return ops::infer_types(std::move(m)); });
    EXPECT_TRUE(estimated) << render(estimated.error());
    asked_ = costs.asked;
    auto plan = p.plan();
    EXPECT_TRUE(plan) << render(plan.error());
    return *std::move(plan);
  }
  // The layouts of operators of that name, in their order.
  std::vector<std::size_t> layouts_of(const LayoutPlan& plan, std::string_view op) const {
    const relay::Function& f = module_.functions.at("main");
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (relay::is_call_of(f, relay::NodeId(i), op)) out.push_back(plan.by_node[i]);
    }
    return out;
  }

  PatternsOnly vendor_;
  Module module_;
  std::map<std::string, int> asked_;
};

using Places = std::vector<std::size_t>;

TEST_F(LayoutPlanTest, CheapConversionsPutAllConvolutionsWhereTheyAreFast) {
  const LayoutPlan plan = planned(kThreeConvolutions, {.conversion = 0.01});
  EXPECT_EQ(layouts_of(plan, "nn.conv2d"), (Places{1, 1, 1}));
  EXPECT_GT(plan.conversion_seconds, 0);
  EXPECT_LT(plan.cost.seconds(), 3 * 5);
}

TEST_F(LayoutPlanTest, DearConversionsLeaveTheModelAsItIs) {
  const LayoutPlan plan = planned(kThreeConvolutions, {.conversion = 100});
  EXPECT_EQ(layouts_of(plan, "nn.conv2d"), (Places{0, 0, 0}));
  EXPECT_EQ(layouts_of(plan, "nn.relu"), (Places{0, 0}));
  EXPECT_EQ(plan.conversion_seconds, 0);
}

// Nothing puts softmax into another order. The convolution before it would save 3.5 and need two
// conversions of data; the two behind it, with what is between them, save 7 and need as many, and
// one of the weights.
TEST_F(LayoutPlanTest, RegionsHaveLayoutsOfTheirOwn) {
  const LayoutPlan plan = planned(kThreeConvolutions, {.conversion = 2});
  EXPECT_EQ(layouts_of(plan, "nn.conv2d"), (Places{0, 1, 1}));
  EXPECT_EQ(layouts_of(plan, "nn.relu"), (Places{0, 1}));
  EXPECT_EQ(layouts_of(plan, "add"), (Places{1}));
  EXPECT_DOUBLE_EQ(plan.conversion_seconds, 3 * 2.0) << "data and result, and weights once";
}

// What a value is converted for twice is converted once; kinds of conversions are measured once.
TEST_F(LayoutPlanTest, ConversionsAreSharedAndMeasuredOnceAKind) {
  const LayoutPlan plan = planned(kThreeConvolutions, {.conversion = 0.01});
  EXPECT_DOUBLE_EQ(plan.conversion_seconds, 5 * 0.01)
      << "weights, and two pieces of data there and back";
  EXPECT_EQ(asked_.at("transpose"), 4) << "weights and data, there and back";
}

TEST_F(LayoutPlanTest, TransposesOfTheModelAreFreeWhereOrdersChangeAnyway) {
  const std::string channels_last = R"(
def @main(%x: Tensor[(1, 6, 6, 8), float32], %w: Tensor[(8, 8, 3, 3), float32]) {
  %0 = transpose(%x, axes=[0, 3, 1, 2]);
  %1 = nn.conv2d(%0, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  transpose(%1, axes=[0, 2, 3, 1])
})";
  const LayoutPlan plan = planned(channels_last, {.conversion = 1.5});
  EXPECT_EQ(layouts_of(plan, "nn.conv2d"), (Places{1}));
  EXPECT_DOUBLE_EQ(plan.cost.seconds(), 1 + 1.5) << "the convolution, and its weights";
}

TEST_F(LayoutPlanTest, TheCheaperOfTwoLayoutsIsTaken) {
  const LayoutPlan plan =
      planned(kThreeConvolutions, {.conversion = 0.01},
              {{"nn.conv2d:NCHW"}, {"nn.conv2d:NHWC:OHWI"}, {"nn.conv2d:NHWC"}});
  for (const std::size_t layout : layouts_of(plan, "nn.conv2d")) EXPECT_GE(layout, 2u);
}

TEST_F(LayoutPlanTest, FieldsOfATupleAreInOneOrder) {
  const std::string text = R"(
def @main(%x: Tensor[(1, 8, 6, 6), float32], %w: Tensor[(8, 8, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %2 = (%0, %1);
  %3 = concatenate(%2, axis=1);
  nn.relu(%3)
})";
  const LayoutPlan plan = planned(text, {.native = 50, .conversion = 0.1});
  EXPECT_EQ(layouts_of(plan, "nn.conv2d"), (Places{1, 1}));
  EXPECT_EQ(layouts_of(plan, "concatenate"), (Places{1}));
  EXPECT_NEAR(plan.conversion_seconds, 3 * 0.1, 1e-9)
      << "data, weights and the result, and no field";
}

TEST_F(LayoutPlanTest, OpenSizesAndModelsWithoutConvolutions) {
  const std::string open = R"(
def @main(%x: Tensor[(?n, 8, 6, 6), float32], %w: Tensor[(8, 8, 3, 3), float32]) {
  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])
})";
  EXPECT_EQ(layouts_of(planned(open, {.conversion = 0.1}), "nn.conv2d"), (Places{1}));
  EXPECT_FALSE(planner("def @main(%x: Tensor[(4, 4), float32]) { nn.relu(%x) }").has_choice());
}

}  // namespace
}  // namespace tessera::collage
