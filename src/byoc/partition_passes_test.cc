// SPDX-License-Identifier: Apache-2.0
// annotate-target, merge-compiler-regions and partition-graph on random graphs and on large ones.
#include <chrono>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "byoc/passes.h"
#include "byoc/region_merger.h"
#include "module/text.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "passes/testing/random_inputs.h"
#include "support/testing/near_linear.h"

namespace tessera::byoc {
namespace {

using relay::FunctionBuilder;
using relay::NodeId;

const Type kType = tensor_type({Dim(2), Dim(2)}, kFloat32);

Result<Module> run(Module module, const std::string& text) {
  std::vector<const passes::Pass*> known;
  for (const auto folder : {passes::all_passes(), byoc::all_passes()})
    known.insert(known.end(), folder.begin(), folder.end());
  const auto calls = passes::parse_pipeline(text, known).value();
  passes::ManagerOptions options;
  options.verify_each = true;
  TESSERA_TRY(auto outcome,
              passes::run_passes(std::move(module), calls, ops::operators(), options));
  return std::move(outcome.module);
}

Module run_well(Module module, const std::string& text) {
  const std::string before = print(module);
  auto after = run(std::move(module), text);
  TESSERA_CHECK(after.has_value(), "{}\n{}\n{}", text, render(after.error()), before);
  return std::move(after).value();
}

// A function of element-wise operators, tuples, `let`s, `if`s and local functions.
class RandomFunction {
 public:
  explicit RandomFunction(std::uint32_t seed, bool calls_only = false)
      : random_(seed), calls_only_(calls_only) {}

  Module make() {
    condition_ = b_.param("condition", tensor_type({}, kBool));
    values_ = {b_.param("x", kType), b_.param("y", kType)};
    grow(5 + pick(20));
    std::vector<NodeId> results = {values_.back()};
    for (int i = pick(3); i > 0; --i) results.push_back(any());
    Module module;
    module.functions["main"] = b_.finish(results.size() == 1 ? results[0] : b_.tuple(results));
    return ops::infer_types(std::move(module)).value();
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  NodeId any() {
    const int recent = std::min<int>(static_cast<int>(values_.size()), 1 + pick(6));
    return values_[values_.size() - static_cast<std::size_t>(1 + pick(recent))];
  }
  void grow(int count) {
    for (int i = 0; i < count; ++i) values_.push_back(next());
  }
  NodeId call(std::string_view op, std::initializer_list<NodeId> operands) {
    return b_.call(ops::op(op), operands);
  }

  NodeId next() {
    switch (pick(calls_only_ ? 7 : 10)) {
      case 0:
        return call("nn.relu", {any()});
      case 1:
      case 2:
        return call("tanh", {any()});
      case 3:
      case 4:
        return call("add", {any(), any()});
      case 5:
        return call(
            "multiply",
            {any(), b_.constant(tensor_from_doubles({}, kFloat32, std::vector{0.5 + pick(3)}))});
      case 6: {
        const NodeId fields[] = {any(), any()};
        return b_.project(b_.tuple(fields), pick(2));
      }
      case 7:
        return b_.let("v", any());
      case 8:
        return depth_ >= 2 ? any() : pick(2) == 0 ? branch() : local_call();
      default:
        return call("sigmoid", {any()});
    }
  }
  NodeId branch() {
    const relay::RegionId yes = inside(), no = inside();
    return b_.if_(condition_, yes, no);
  }
  // A call of a function that may use what is around it.
  NodeId local_call() {
    const NodeId argument = any();
    NodeId callee = b_.literal(inside(true), {});
    if (pick(2) == 0) callee = b_.let("f", callee);
    return b_.call_value(callee, {&argument, 1});
  }
  relay::RegionId inside(bool has_param = false) {
    const std::size_t outside = values_.size();
    const relay::RegionId region = b_.begin_region();
    if (has_param) values_.push_back(b_.param("p", kType));
    ++depth_;
    grow(pick(5));
    --depth_;
    b_.end_region(any());
    values_.resize(outside);
    return region;
  }

  std::mt19937 random_;
  const bool calls_only_;
  FunctionBuilder b_;
  NodeId condition_;
  std::vector<NodeId> values_;
  int depth_ = 0;
};

// Which of the two targets takes which operators, and what else there is to choose.
std::string annotation(std::uint32_t seed, const std::string& targets, bool all_nodes = false) {
  std::mt19937 random(seed);
  std::string supported;
  for (const char* entry : {"a:nn.relu", "a:tanh", "a:add", "b:tanh", "b:add", "b:multiply"}) {
    if (random() % 3 == 0) continue;
    supported += (supported.empty() ? "" : ",") + std::string(entry);
  }
  const char* others = all_nodes || random() % 2 == 0 ? "true" : "false";
  return "annotate-target{targets=" + targets + ",supported=[" + supported +
         "],include_non_call_ops=" + others + "}";
}

std::size_t operator_calls(const Module& module) {
  std::size_t n = 0;
  for (const auto& [name, f] : module.functions) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i)
      n += f.op(NodeId(i)) != nullptr && !is_annotation(f, NodeId(i)) ? 1 : 0;
  }
  return n;
}

void expect_same_values(const Module& before, const Module& after) {
  const relay::Function& main = before.functions.at("main");
  auto inputs = passes::testing::random_inputs(main);
  for (const bool condition : {false, true}) {
    inputs["condition"] = tensor_from_doubles({}, kBool, std::vector<double>{condition ? 1. : 0.});
    std::vector<Tensor> arguments;
    for (const NodeId id : main.params())
      arguments.push_back(inputs.at(main.as<relay::Param>(id)->name));
    const auto wanted = ops::evaluate(before, main, arguments);
    const auto found = ops::evaluate(after, after.functions.at("main"), arguments);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(found[i] == wanted[i]) << print(before) << print(after);
  }
}

// A cycle between regions would be an error of partition-graph; an operator call in no partition
// or in two would change their number.
TEST(PartitionPasses, KeepRandomFunctions) {
  int partitions = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Module before = run_well(RandomFunction(seed).make(), "eliminate-dead-code,infer-type");
    const std::size_t calls = operator_calls(before);
    for (const char* merge : {",", ",merge-compiler-regions,"}) {
      const Module after = run_well(
          before, annotation(seed, "[a,b]") + merge + "partition-graph,eliminate-dead-code");
      expect_same_values(before, after);
      EXPECT_EQ(operator_calls(after), calls) << print(before) << print(after);
      partitions += static_cast<int>(after.functions.size()) - 1;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(partitions, 400);
}

// With the targets in one run or in two, marks are the same; what is merged stays as it is.
TEST(PartitionPasses, RunsAddUp) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Module before = RandomFunction(seed).make();
    const std::string both = annotation(seed, "[a,b]"), first = annotation(seed, "[a]"),
                      second = annotation(seed, "[b]");
    const Module at_once = run_well(before, both);
    const ModuleDifference d =
        compare(at_once, run_well(before, fmt::format("{},{}", first, second)));
    EXPECT_TRUE(d.equal) << d.where << ": " << d.what << print(at_once);
    const std::string merged = both + ",merge-compiler-regions";
    const Module once = run_well(before, merged);
    const ModuleDifference again = compare(once, run_well(once, merged));
    EXPECT_TRUE(again.equal) << again.where << ": " << again.what << print(once);
    if (HasFailure()) return;
  }
}

// relay-spec 2.9 to the letter, with sets of regions that a region may not take in.
class LiteralMerger {
 public:
  LiteralMerger(const relay::Function& f, const AnnotatedRegions& regions)
      : f_(f), regions_(regions), into_(regions.size()), forbidden_(regions.size()) {
    for (std::uint32_t i = 0; i < into_.size(); ++i) into_[i] = i;
    for (const NodeId id : regions.order()) {
      if (is_end(f, id)) process(find(regions.of(id)));
    }
  }

  std::uint32_t find(std::uint32_t region) const {
    while (into_[region] != region) region = into_[region];
    return region;
  }
  std::set<std::uint32_t> inputs_of(std::uint32_t region) const {
    std::set<std::uint32_t> out;
    for (std::uint32_t part = 0; part < regions_.size(); ++part) {
      if (find(part) != region) continue;
      for (const NodeId begin : regions_[part].ins) {
        const std::uint32_t input = regions_.of(f_.operands(begin)[0]);
        if (input != AnnotatedRegions::kNone && find(input) != region) out.insert(find(input));
      }
    }
    return out;
  }
  // Takes away what needs nothing, as long as there is any.
  bool has_cycle() const {
    std::map<std::uint32_t, std::set<std::uint32_t>> left;
    for (std::uint32_t i = 0; i < regions_.size(); ++i) {
      if (find(i) == i) left[i] = inputs_of(i);
    }
    for (bool progress = true; progress;) {
      progress = false;
      for (auto it = left.begin(); it != left.end();) {
        const auto needed = [&](std::uint32_t input) { return left.contains(input); };
        const bool free = std::none_of(it->second.begin(), it->second.end(), needed);
        progress = progress || free;
        it = free ? left.erase(it) : std::next(it);
      }
    }
    return !left.empty();
  }

 private:
  void process(std::uint32_t region) {
    if (!done_.insert(region).second) return;
    for (const std::uint32_t input : inputs_of(region)) process(find(input));
    const std::set<std::uint32_t> inputs = inputs_of(region);
    std::set<std::uint32_t>& mine = forbidden_[region];
    for (const std::uint32_t input : inputs)
      mine.insert(forbidden_[input].begin(), forbidden_[input].end());
    for (const std::uint32_t input : inputs) {
      if (regions_[input].target != regions_[region].target) {
        mine.insert(input);
      } else if (!mine.contains(input)) {
        into_[input] = region;
        for (std::set<std::uint32_t>& set : forbidden_) {
          if (set.erase(input) != 0) set.insert(region);
        }
      }
    }
  }

  const relay::Function& f_;
  const AnnotatedRegions& regions_;
  std::vector<std::uint32_t> into_;
  std::vector<std::set<std::uint32_t>> forbidden_;
  std::set<std::uint32_t> done_;
};

// Where the letter makes no cycle, the regions are those of the letter.
TEST(PartitionPasses, MergeByTheLetter) {
  int equal = 0;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    const Module annotated =
        run_well(RandomFunction(seed, true).make(), annotation(seed, "[a,b]", true));
    const relay::Function& f = annotated.functions.at("main");
    const AnnotatedRegions regions = AnnotatedRegions::find(f).value();
    const LiteralMerger letter(f, regions);
    if (letter.has_cycle()) continue;
    const std::vector<std::uint32_t> ours = merge_regions(f, regions);
    for (std::uint32_t a = 0; a < regions.size(); ++a) {
      for (std::uint32_t b = 0; b < a; ++b)
        ASSERT_EQ(ours[a] == ours[b], letter.find(a) == letter.find(b)) << print(annotated);
    }
    ++equal;
  }
  EXPECT_GT(equal, 300);
}

// What a region takes in may have been read before by regions of other targets: these are not told
// what the region needs, and the letter makes a cycle.
TEST(PartitionPasses, MergeWhereTheLetterMakesACycle) {
  FunctionBuilder b;
  const NodeId x = b.param("x", kType), y = b.param("y", kType);
  const NodeId p = b.call(ops::op("nn.relu"), {x}), g = b.call(ops::op("tanh"), {y});
  const NodeId of_a = b.call(ops::op("add"), {p, g}), f = b.call(ops::op("tanh"), {p});
  const NodeId results[] = {f, of_a, b.call(ops::op("multiply"), {f, g})};
  Module module;
  module.functions["main"] = b.finish(b.tuple(results));
  const std::string annotate =
      "annotate-target{targets=[a,b],supported=[a:nn.relu,a:add,b:tanh,b:multiply]}";
  const Module annotated = run_well(module, annotate);
  const AnnotatedRegions regions = AnnotatedRegions::find(annotated.functions.at("main")).value();
  EXPECT_TRUE(LiteralMerger(annotated.functions.at("main"), regions).has_cycle());
  const Module after = run_well(module, annotate + ",merge-compiler-regions,partition-graph");
  EXPECT_EQ(after.functions.size(), 4u);  // main, {p, add}, {tanh(p), multiply}, {g}
}

// ---- Large graphs

constexpr int kNodes = tessera::testing::kLargeGraphNodes;
constexpr double kSeconds = tessera::testing::kLargeGraphSeconds;

double seconds_of(const relay::Function& f, const std::string& supported) {
  Module module;
  module.functions["main"] = f;
  const std::string text = "annotate-target{targets=[a],supported=[" + supported +
                           "]},merge-compiler-regions,partition-graph,infer-type";
  const auto begin = std::chrono::steady_clock::now();
  const auto after = run(std::move(module), text);
  EXPECT_TRUE(after.has_value()) << text;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void expect_fast(const relay::Function& f) {
  for (const char* supported : {"a:nn.relu", "a:tanh,a:add"})
    EXPECT_LT(seconds_of(f, supported), kSeconds) << supported;
}

NodeId unary(FunctionBuilder& b, NodeId x, int i) {
  return b.call(ops::op(i % 2 == 0 ? "nn.relu" : "tanh"), {x});
}

TEST(LargePartitions, Chain) {
  FunctionBuilder b;
  NodeId at = b.param("x", kType);
  for (int i = 0; i < kNodes; ++i) at = unary(b, at, i);
  expect_fast(b.finish(at));
}

TEST(LargePartitions, FarUses) {
  FunctionBuilder b;
  NodeId at = b.param("x", kType);
  std::vector<NodeId> all;
  for (int i = 0; i < kNodes / 2; ++i) all.push_back(at = unary(b, at, i));
  for (const NodeId early : all) at = b.call(ops::op("add"), {at, early});
  expect_fast(b.finish(at));
}

TEST(LargePartitions, ManyUses) {
  FunctionBuilder b;
  const NodeId shared = unary(b, b.param("x", kType), 0);
  std::vector<NodeId> all;
  for (int i = 0; i < kNodes; ++i) all.push_back(unary(b, shared, i));
  expect_fast(b.finish(b.tuple(all)));
}

TEST(LargePartitions, NestedSkips) {
  FunctionBuilder b;
  std::vector<NodeId> all = {b.param("x", kType)};
  for (int i = 1; i < kNodes / 2; ++i) {
    const NodeId next = unary(b, all.back(), i);
    all.push_back(b.call(ops::op("add"), {next, all[all.size() / 2]}));
  }
  expect_fast(b.finish(all.back()));
}

}  // namespace
}  // namespace tessera::byoc
