// SPDX-License-Identifier: Apache-2.0
// Plans of whole models, with back ends that have patterns alone and costs that a test states.
#include "collage/model_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "collage/program.h"
#include "collage/testing/stated_costs.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/testing/text.h"

namespace tessera::collage {
namespace {

using relay::is_op;
using relay::wildcard;
using testing::operators_of;
using testing::PatternsOnly;
using testing::StatedCosts;

// The same, of whole graphs.
class WholeGraphs final : public PatternsOnly {
 public:
  using PatternsOnly::PatternsOnly;
  bool takes_whole_graphs() const override { return true; }
};

constexpr const char* kTwoLayers = R"(
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32], %v: Tensor[(16, 16), float32]) {
  %0 = nn.dense(%x, %w, units=16);
  %1 = nn.relu(%0);
  %2 = nn.dense(%1, %v, units=16);
  nn.relu(%2)
})";

class ModelPlanTest : public ::testing::Test {
 protected:
  ModelPlanTest()
      : onednn_("onednn", {{"onednn.dense_relu",
                            is_op("nn.relu", {is_op("nn.dense", {wildcard(), wildcard()})}),
                            {}},
                           {"onednn.dense", is_op("nn.dense", {wildcard(), wildcard()}), {}}}),
        blas_("blas", {{"blas.dense", is_op("nn.dense", {wildcard(), wildcard()}), {}}},
              byoc::FusionStyle::kOneComposite) {}

  ModelPlanner planner(const std::string& text) {
    module_ = passes::testing::module_of(text);
    auto made = ModelPlanner::make(module_, "main",
                                   {{&onednn_, Target("onednn")}, {&blas_, Target("blas")}},
                                   Target("cpu"), false);
    EXPECT_TRUE(made) << render(made.error());
    return *std::move(made);
  }
  // Who computes each region: "onednn: nn.dense, nn.relu".
  static std::vector<std::string> rows(const ModelPlan& plan) {
    std::vector<std::string> out;
    for (const PlannedRegion& region : plan.regions) {
      std::string row = region.chosen.who + ":";
      for (const std::string& op : region.operators) row += " " + op;
      out.push_back(row);
    }
    return out;
  }
  std::vector<std::string> planned(ModelPlanner& planner, StatedCosts& costs) {
    EXPECT_TRUE(planner.estimate(costs));
    auto plan = planner.plan();
    EXPECT_TRUE(plan) << render(plan.error());
    return rows(*plan);
  }

  PatternsOnly onednn_, blas_;
  Module module_;
};

using Rows = std::vector<std::string>;

// A cost for each operator of a program, and one for starting it.
StatedCosts::Says by_operator(double onednn, double blas, double native) {
  return [=](const std::string& who, const std::string& operators) {
    const double each = who == "onednn" ? onednn : who == "blas" ? blas : native;
    return Cost::of(0.1 + each * (1 + static_cast<double>(
                                          std::count(operators.begin(), operators.end(), ','))));
  };
}

TEST_F(ModelPlanTest, TakesWhoeverIsCheapest) {
  ModelPlanner p = planner(kTwoLayers);
  StatedCosts onednn(by_operator(1, 5, 5));
  EXPECT_EQ(planned(p, onednn), (Rows{"onednn: nn.dense nn.relu nn.dense nn.relu"}));
  ModelPlanner q = planner(kTwoLayers);
  StatedCosts native(by_operator(5, 5, 1));
  EXPECT_EQ(planned(q, native), (Rows{"native: nn.dense nn.relu", "native: nn.dense nn.relu"}));
  ModelPlanner r = planner(kTwoLayers);
  StatedCosts blas(by_operator(9, 1, 4));
  EXPECT_EQ(planned(r, blas),
            (Rows{"blas: nn.dense", "native: nn.relu", "blas: nn.dense", "native: nn.relu"}));
}

TEST_F(ModelPlanTest, AsksOnceForEqualPrograms) {
  ModelPlanner p = planner(kTwoLayers);
  StatedCosts costs(by_operator(1, 1, 1));
  planned(p, costs);
  std::vector<std::string> asked = costs.asked;
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(std::adjacent_find(asked.begin(), asked.end()), asked.end())
      << "layers of one shape are one program";
  EXPECT_NE(std::find(asked.begin(), asked.end(), "cpu: nn.dense, nn.relu"), asked.end());
  EXPECT_NE(std::find(asked.begin(), asked.end(), "onednn: nn.dense, nn.relu, nn.dense, nn.relu"),
            asked.end())
      << "the region of the greedy partition";
}

// Single operators of it say nothing, and are not measured.
TEST_F(ModelPlanTest, AsksAboutTheRegionsOfWholeGraphsAlone) {
  const WholeGraphs whole("onednn",
                          {{"onednn.relu", is_op("nn.relu", {wildcard()}), {}},
                           {"onednn.dense", is_op("nn.dense", {wildcard(), wildcard()}), {}}});
  module_ = passes::testing::module_of(kTwoLayers);
  auto p =
      ModelPlanner::make(module_, "main", {{&whole, Target("onednn")}, {&blas_, Target("blas")}},
                         Target("cpu"), false);
  ASSERT_TRUE(p) << render(p.error());
  StatedCosts costs(by_operator(1, 5, 5));
  EXPECT_EQ(planned(*p, costs), (Rows{"onednn: nn.dense nn.relu nn.dense nn.relu"}));
  const auto of_whole = [](const std::string& asked) { return asked.starts_with("onednn:"); };
  EXPECT_EQ(std::count_if(costs.asked.begin(), costs.asked.end(), of_whole), 1);
}

// Two neighbours are cheap together, three are not, and one alone pays for both of its borders.
TEST_F(ModelPlanTest, TakesTwoNeighboursAsOneRegion) {
  constexpr const char* kThreeLayers = R"(
def @main(%x: Tensor[(8, 16), float32], %u: Tensor[(16, 16), float32], %v: Tensor[(16, 16), float32], %w: Tensor[(16, 16), float32]) {
  %0 = nn.dense(%x, %u, units=16);
  %1 = nn.relu(%0);
  %2 = nn.dense(%1, %v, units=16);
  %3 = nn.relu(%2);
  %4 = nn.dense(%3, %w, units=16);
  %5 = nn.relu(%4);
  nn.softmax(%5)
})";
  const auto says = [](const std::string& who, const std::string& operators) {
    const auto layers = 1 + std::count(operators.begin(), operators.end(), ',') / 2;
    if (who == "onednn") return Cost::of(layers == 1 ? 4 : layers == 2 ? 3 : 9);
    return Cost::of(3.5);
  };
  ModelPlanner p = planner(kThreeLayers);
  StatedCosts costs(says);
  EXPECT_EQ(planned(p, costs),
            (Rows{"native: nn.dense nn.relu", "onednn: nn.dense nn.relu nn.dense nn.relu",
                  "native: nn.softmax"}));
  const auto asked = [&](const std::string& text) {
    return std::count(costs.asked.begin(), costs.asked.end(), text);
  };
  EXPECT_EQ(asked("onednn: nn.dense, nn.relu, nn.dense, nn.relu"), 1) << "equal pairs are one";
  EXPECT_EQ(asked("blas: nn.dense, nn.dense"), 0) << "each of its composites is a function";
}

// Alone each composite of the back end pays 3 for its borders, and a region once.
TEST_F(ModelPlanTest, InRegionsCompositesPayForNoBorders) {
  ModelPlanner p = planner(kTwoLayers);
  StatedCosts costs([](const std::string& who, const std::string& operators) {
    const double each =
        1 + static_cast<double>(std::count(operators.begin(), operators.end(), ','));
    // The region cannot be had as a whole for less than generated code.
    if (who == "onednn") return Cost::of(each == 4 ? 7 : 3 + each);
    return Cost::of(who == "blas" ? 50 : 2.1 * each);
  });
  ASSERT_TRUE(p.estimate(costs));
  const auto alone = p.plan(), in_regions = p.plan(true);
  ASSERT_TRUE(alone && in_regions);
  EXPECT_EQ(rows(*alone), (Rows{"onednn: nn.dense nn.relu nn.dense nn.relu"}));
  EXPECT_DOUBLE_EQ(alone->cost.seconds(), 7);
  // 5 + 5 alone are 7 together: 3.5 each, and either plan is the region in the end.
  EXPECT_DOUBLE_EQ(in_regions->cost.seconds(), 7);
  const relay::Function& f = module_.functions.at("main");
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (f.op(relay::NodeId(i)) == nullptr) continue;
    EXPECT_EQ(in_regions->assignment.by_node[i], &onednn_);
  }
}

// Layers of one shape are one program, with the weights of the first: who compares results of two
// back ends gets the same numbers from both.
TEST_F(ModelPlanTest, AsksAllAboutTheSameConstants) {
  const std::vector<float> ones(16 * 16, 1), twos(16 * 16, 2);
  module_ = Module();
  relay::FunctionBuilder b;
  const auto dense = [&](relay::NodeId x, const std::vector<float>& w) {
    return b.call(*ops::operators().find("nn.dense"),
                  {x, b.constant(Tensor::of({16, 16}, kFloat32, w))}, {{"units", 16}});
  };
  const auto relu = [&](relay::NodeId x) { return b.call(*ops::operators().find("nn.relu"), {x}); };
  // To `blas` the second product is the first one that it meets alone.
  const relay::NodeId x = b.param("x", tensor_type({8, 16}, kFloat32));
  module_.functions["main"] = b.finish(dense(relu(dense(x, ones)), twos));
  module_ = ops::infer_types(std::move(module_)).value();
  auto p =
      ModelPlanner::make(module_, "main", {{&onednn_, Target("onednn")}, {&blas_, Target("blas")}},
                         Target("cpu"), false);
  ASSERT_TRUE(p);
  std::map<std::string, std::set<std::string>> weights;  // by operators
  class Looks final : public CostEstimator {
   public:
    explicit Looks(std::map<std::string, std::set<std::string>>& seen) : seen_(seen) {}
    Result<Cost> estimate(const CandidateProgram& program) override {
      const relay::Function& f = program.module.functions.at("main");
      std::string values;
      for (std::size_t i = 0; i < f.num_nodes(); ++i) {
        const auto* c = f.as<relay::Constant>(relay::NodeId(i));
        if (c != nullptr) values += program.module.constants.resolve(c->value).blob->hash().hex();
      }
      seen_[operators_of(f)].insert(values);
      return Cost::of(1);
    }

   private:
    std::map<std::string, std::set<std::string>>& seen_;
  } looks(weights);
  ASSERT_TRUE(p->estimate(looks));
  EXPECT_EQ(weights.at("nn.dense").size(), 1u);
}

TEST_F(ModelPlanTest, LeavesOutWhatCannotRun) {
  ModelPlanner p = planner(kTwoLayers);
  StatedCosts costs([](const std::string& who, const std::string& operators) {
    if (who == "onednn") return Cost::invalid("it crashed");
    return by_operator(0, 3, 4)(who, operators);
  });
  const Rows found = planned(p, costs);
  EXPECT_EQ(found,
            (Rows{"blas: nn.dense", "native: nn.relu", "blas: nn.dense", "native: nn.relu"}));
}

// As where data decide sizes: nobody can say what the operator takes, and the rest is placed.
TEST_F(ModelPlanTest, GeneratedCodeTakesWhatNobodyCanMeasure) {
  ModelPlanner p = planner(kTwoLayers);
  StatedCosts costs([](const std::string& who, const std::string& operators) {
    if (operators.find("nn.relu") != std::string::npos) return Cost::invalid("no sizes");
    return by_operator(9, 1, 4)(who, operators);
  });
  ASSERT_TRUE(p.estimate(costs));
  const auto plan = p.plan();
  ASSERT_TRUE(plan) << render(plan.error());
  EXPECT_EQ(rows(*plan),
            (Rows{"blas: nn.dense", "native: nn.relu", "blas: nn.dense", "native: nn.relu"}));
  EXPECT_DOUBLE_EQ(plan->cost.seconds(), 2.2);
  EXPECT_EQ(plan->regions.at(1).chosen.why_not, "no sizes");
  EXPECT_FALSE(std::isfinite(plan->regions.at(1).chosen.seconds));
}

TEST_F(ModelPlanTest, TellsTheRunnerUp) {
  ModelPlanner p = planner(kTwoLayers);
  StatedCosts costs([](const std::string& who, const std::string& operators) {
    return who == "onednn" ? Cost::of(50) : by_operator(0, 1, 4)(who, operators);
  });
  ASSERT_TRUE(p.estimate(costs));
  const auto plan = p.plan();
  ASSERT_TRUE(plan);
  const PlannedRegion& dense = plan->regions.front();
  EXPECT_EQ(dense.chosen.who, "blas");
  ASSERT_EQ(dense.others.size(), 1u);
  EXPECT_EQ(dense.others[0].who, "native");
  EXPECT_DOUBLE_EQ(dense.others[0].seconds, 8.1) << "that of its group";
}

TEST_F(ModelPlanTest, TellsWhoCannot) {
  ModelPlanner p = planner(kTwoLayers);
  StatedCosts costs([](const std::string& who, const std::string& operators) {
    return who == "onednn" ? Cost::invalid("it crashed") : by_operator(0, 9, 1)(who, operators);
  });
  ASSERT_TRUE(p.estimate(costs));
  const auto plan = p.plan();
  ASSERT_TRUE(plan);
  const PlannedRegion& layer = plan->regions.front();
  EXPECT_EQ(layer.chosen.who, "native");
  ASSERT_EQ(layer.others.size(), 1u);
  EXPECT_EQ(layer.others[0].who, "onednn");
  EXPECT_EQ(layer.others[0].why_not, "it crashed");
}

// The assignment says back ends by node, and the sum is of all regions.
TEST_F(ModelPlanTest, AssignsNodes) {
  ModelPlanner p = planner(kTwoLayers);
  StatedCosts costs(by_operator(9, 1, 4));
  ASSERT_TRUE(p.estimate(costs));
  const auto plan = p.plan();
  ASSERT_TRUE(plan);
  const relay::Function& f = module_.functions.at("main");
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::Operator* op = f.op(relay::NodeId(i));
    const byoc::Backend* who = plan->assignment.by_node[i];
    EXPECT_EQ(who, op != nullptr && op->name == "nn.dense" ? &blas_ : nullptr);
  }
  EXPECT_DOUBLE_EQ(plan->cost.seconds(), 2 * 1.1 + 2 * 4.1);
}

TEST(ProgramText, IsOfTypesAndOfSmallConstants) {
  const auto text_with = [](std::vector<float> weights, std::int64_t rows) {
    Module module;
    relay::FunctionBuilder b;
    const auto x = b.param("x", tensor_type({4, rows}, kFloat32));
    const auto w = b.constant(Tensor::of({4, rows}, kFloat32, weights));
    module.functions["main"] = b.finish(b.call(*ops::operators().find("add"), {x, w}));
    module = ops::infer_types(std::move(module)).value();
    return program_text(module.functions.at("main"), module.constants);
  };
  const std::vector<float> few(4, 1), other_few(4, 2), many(64, 1), other_many(64, 2);
  EXPECT_NE(text_with(few, 1), text_with(other_few, 1));
  EXPECT_EQ(text_with(many, 16), text_with(other_many, 16));
}

}  // namespace
}  // namespace tessera::collage
