// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/random_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "ops/compare.h"
#include "ops/evaluate_function.h"
#include "ops/infer_types.h"
#include "ops/samples.h"
#include "ops/table.h"
#include "relay/rewrite.h"
#include "tests/fuzz/random.h"

namespace tessera::fuzz {
namespace {

using relay::Function;
using relay::NodeId;

constexpr std::int64_t kMostElements = 2048;

struct Recipe {
  const relay::Operator* op = nullptr;
  ops::Sample sample;
};

// Marks mean something to passes alone, and what has no code is gone before code is made.
bool can_run(const relay::Operator& op) {
  const bool has_code = op.compute != nullptr || !op.runtime_symbol.empty();
  return op.eval != nullptr && has_code && !op.has_effect;
}

bool is_static(const Function& f) {
  for (const Type& t : flatten(f.type(f.result()))) {
    if (is_dynamic(t)) return false;
  }
  return true;
}

// By operator; those that back ends take come once more, under a number.
std::vector<std::vector<Recipe>> all_recipes() {
  constexpr std::string_view kFavourites[] = {
      "nn.dense", "nn.conv2d", "nn.bias_add", "nn.relu",   "add",         "multiply",
      "matmul",   "tanh",      "nn.softmax",  "transpose", "concatenate", "nn.batch_matmul"};
  std::vector<std::vector<Recipe>> by_operator, favourites;
  for (const relay::Operator* op : ops::operators().all()) {
    if (!can_run(*op)) continue;
    std::vector<Recipe> recipes;
    for (const std::string_view text : op->samples) {
      ops::Sample sample = ops::parse_sample(text);
      if (is_static(sample.function)) recipes.push_back({op, std::move(sample)});
    }
    if (recipes.empty()) continue;
    const bool liked = std::find(std::begin(kFavourites), std::end(kFavourites), op->name) !=
                       std::end(kFavourites);
    for (int i = 0; liked && i < 8; ++i) favourites.push_back(recipes);
    by_operator.push_back(std::move(recipes));
  }
  by_operator.insert(by_operator.end(), favourites.begin(), favourites.end());
  return by_operator;
}

// A value on the graph's inputs, and the same where every step before it was a little off.
constexpr int kShakes = 3;
using Shaken = std::array<Tensor, kShakes>;
struct Value {
  NodeId node;
  Tensor exact;
  Shaken shaken;
};

double rounding_of(DType dtype) {
  if (dtype == kBFloat16) return 8e-3;
  if (dtype == kFloat16) return 1e-3;
  return dtype == kFloat64 ? 1e-13 : 2e-6;
}

// As far off as another order of sums and contracted products may be.
Tensor shake(const Tensor& t, Random& random) {
  if (!t.dtype.is_float()) return t;
  std::vector<double> values;
  double largest = 0;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    values.push_back(element_as_double(t, i));
    if (std::isfinite(values.back())) largest = std::max(largest, std::abs(values.back()));
  }
  const double unit = rounding_of(t.dtype);
  for (double& v : values) {
    v += (2 * random.unit() - 1) * unit * (std::abs(v) + 0.25 * largest);
  }
  return tensor_from_doubles(t.shape, t.dtype, values);
}

bool is_within(const Tensor& t, double low, double high) {
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    const double v = element_as_double(t, i);
    if (!(v >= low && v <= high)) return false;
  }
  return true;
}

class Grower {
 public:
  explicit Grower(std::uint64_t seed) : random_(seed) {}

  Graph run() {
    const int steps = 3 + random_.below(8);
    for (int i = 0; i < steps; ++i) grow();
    Graph graph;
    Function f = builder_.finish(results());
    auto typed = ops::infer_types(relay::without_dead_nodes(std::move(f)));
    TESSERA_CHECK(typed.has_value(), "a random graph has no type: {}", render(typed.error()));
    graph.function = std::move(typed).value();
    for (const NodeId param : graph.function.params()) {
      graph.inputs.push_back(inputs_.at(graph.function.as<relay::Param>(param)->name));
    }
    return graph;
  }

 private:
  static const std::vector<std::vector<Recipe>>& recipes() {
    static const auto all = all_recipes();
    return all;
  }

  // What a step reads: a value that is there, or a new one.
  struct Operand {
    std::optional<std::size_t> value;  // index into values_
    Tensor fresh;
    bool is_constant = false;
  };

  void grow() {
    if (values_.size() > 2 && random_.below(10) == 0) return repack();
    for (int attempt = 0; attempt < 12; ++attempt) {
      const auto& of_operator = random_.among(recipes());
      const Recipe& recipe = random_.among(of_operator);
      const std::vector<Operand> operands = choose(recipe, attempt);
      const bool uses_any = std::any_of(operands.begin(), operands.end(),
                                        [](const Operand& o) { return o.value.has_value(); });
      if (!uses_any && values_.size() > 3 && attempt < 11) continue;
      if (take_step(recipe, operands)) return;
    }
  }

  // A tuple, a projection of it: the value again.
  void repack() {
    const std::size_t a = any(), b = any();
    const NodeId fields[] = {values_[a].node, values_[b].node};
    const int field = random_.below(2);
    Value again = values_[field == 0 ? a : b];
    again.node = builder_.project(builder_.tuple(fields), field);
    values_.push_back(std::move(again));
  }

  // Mostly a new one.
  std::size_t any() {
    const int count = static_cast<int>(values_.size());
    const int back =
        random_.below(3) == 0 ? random_.below(count) : random_.below(std::min(count, 3));
    return static_cast<std::size_t>(count - 1 - back);
  }

  std::vector<Operand> choose(const Recipe& recipe, int attempt) {
    const auto& wanted = recipe.sample.inputs;
    const std::vector<Tensor> fresh = ops::random_inputs(recipe.sample, random_.bits());
    const bool same_shapes = attempt % 3 == 2 || has_own_domain_of_integers(recipe);
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Operand operand{{}, fresh[i], random_.below(5) < 2};
      for (int tries = 0; !values_.empty() && tries < 4 && !operand.value; ++tries) {
        if (random_.below(6) == 0) break;
        const std::size_t candidate = like_first(recipe, operands) ? *operands[0].value : any();
        if (fits(recipe, i, values_[candidate], same_shapes)) operand.value = candidate;
      }
      operands.push_back(std::move(operand));
    }
    return operands;
  }

  // Of two operands alike, the second often has the type of the first.
  bool like_first(const Recipe& recipe, const std::vector<Operand>& before) {
    const auto& wanted = recipe.sample.inputs;
    return before.size() == 1 && before[0].value && wanted[0].type == wanted[1].type &&
           random_.below(4) == 0;
  }

  static bool has_default_domain(const ops::SampleInput& input) {
    const DType dtype = input.type.dtype();
    if (dtype.is_bool()) return true;
    if (dtype.is_int()) return input.low == (dtype.is_unsigned_int() ? 0 : -5) && input.high == 5;
    return input.low == -2 && input.high == 2 && !input.special;
  }
  // Indices and sizes: right for the sample's shapes alone.
  static bool has_own_domain_of_integers(const Recipe& recipe) {
    return std::any_of(recipe.sample.inputs.begin(), recipe.sample.inputs.end(),
                       [](const ops::SampleInput& input) {
                         return input.type.dtype().is_int() && !has_default_domain(input);
                       });
  }

  static bool fits(const Recipe& recipe, std::size_t operand, const Value& value, bool same_shape) {
    const ops::SampleInput& wanted = recipe.sample.inputs[operand];
    const Tensor& t = value.exact;
    if (t.dtype != wanted.type.dtype() || t.shape.size() != wanted.type.rank()) return false;
    if (same_shape && !(t.type() == wanted.type)) return false;
    const Function& f = recipe.sample.function;
    const bool to_integers = !flatten(f.type(f.result()))[0].dtype().is_float();
    const bool is_loose = has_default_domain(wanted) && (t.dtype.is_float() && !to_integers);
    return is_loose || is_within(t, wanted.low, wanted.high);
  }

  bool take_step(const Recipe& recipe, const std::vector<Operand>& operands) {
    const std::optional<Function> step = with_operands(recipe.sample.function, operands);
    if (!step) return false;
    for (const Type& t : flatten(step->type(step->result()))) {
      if (is_dynamic(t) || product(*constant_shape(t.shape())) > kMostElements) return false;
    }
    auto results = computed(*recipe.op, *step, operands);
    if (!results) return false;
    std::vector<NodeId> arguments;
    for (const Operand& operand : operands) arguments.push_back(node_of(operand));
    add_results(*step, arguments, std::move(*results));
    return true;
  }

  static std::int64_t product(const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    return count;
  }

  const Tensor& tensor_of(const Operand& operand) const {
    return operand.value ? values_[*operand.value].exact : operand.fresh;
  }

  // The sample's call with parameters of other shapes; nothing if it does not allow them.
  std::optional<Function> with_operands(const Function& sample,
                                        const std::vector<Operand>& operands) const {
    relay::FunctionBuilder builder;
    std::vector<NodeId> map;
    std::size_t params = 0;
    for (std::size_t i = 0; i < sample.num_nodes(); ++i) {
      const NodeId id(i);
      std::vector<NodeId> reads;
      for (const NodeId operand : sample.operands(id)) reads.push_back(map[operand.index()]);
      if (const auto* param = sample.as<relay::Param>(id)) {
        map.push_back(builder.param(param->name, tensor_of(operands[params++]).type()));
      } else if (const auto* call = sample.as<relay::OpCall>(id)) {
        map.push_back(builder.call(*call->op, reads, call->attrs));
      } else if (const auto* constant = sample.as<relay::Constant>(id)) {
        map.push_back(builder.constant(constant->value));
      } else {
        map.push_back(builder.tuple(reads));
      }
    }
    auto typed = ops::infer_types(builder.finish(map[sample.result().index()]));
    if (!typed) return std::nullopt;
    return std::move(typed).value();
  }

  // The results, unless they are too large, or too sensitive to what their operands are exactly.
  std::optional<std::vector<Value>> computed(const relay::Operator& op, const Function& step,
                                             const std::vector<Operand>& operands) {
    std::vector<Tensor> inputs;
    for (const Operand& operand : operands) inputs.push_back(tensor_of(operand));
    std::vector<Value> results;
    for (Tensor& exact : ops::evaluate(step, {}, inputs)) {
      if (!is_small(exact)) return std::nullopt;
      results.push_back({{}, std::move(exact), {}});
    }
    const bool moves_only = op.pattern == relay::OpPattern::kInjective;
    for (int s = 0; s < kShakes; ++s) {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].value) inputs[i] = values_[*operands[i].value].shaken[s];
      }
      const std::vector<Tensor> off = ops::evaluate(step, {}, inputs);
      for (std::size_t r = 0; r < off.size(); ++r) {
        const double tolerance = ops::graph_tolerance(off[r].dtype) / 4;
        if (!ops::first_difference(off[r], results[r].exact, tolerance).empty()) return {};
        results[r].shaken[s] = moves_only ? off[r] : shake(off[r], random_);
      }
    }
    return results;
  }

  static bool is_small(const Tensor& t) {
    if (t.dtype.is_bool()) return true;
    const double limit = t.dtype == kFloat16 || t.dtype == kBFloat16 ? 50 : 500;
    return is_within(t, -limit, limit);
  }

  NodeId node_of(const Operand& operand) {
    if (operand.value) return values_[*operand.value].node;
    Value value{{}, operand.fresh, {}};
    value.shaken.fill(operand.fresh);
    if (operand.is_constant) {
      value.node = builder_.constant(operand.fresh);
    } else {
      const std::string name = fmt::format("x{}", inputs_.size());
      value.node = builder_.param(name, operand.fresh.type());
      inputs_.emplace(name, operand.fresh);
    }
    values_.push_back(value);
    return value.node;
  }

  void add_results(const Function& step, const std::vector<NodeId>& arguments,
                   std::vector<Value> results) {
    NodeId result;
    if (random_.below(8) == 0) {
      result = builder_.call_value(relay::embed(builder_, step), arguments);
    } else {
      result = relay::inline_call(builder_, step, arguments);
    }
    if (random_.below(12) == 0) result = builder_.let(fmt::format("v{}", values_.size()), result);
    const bool is_tuple = step.type(step.result()).is_tuple();
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].node = is_tuple ? builder_.project(result, static_cast<int>(i)) : result;
      values_.push_back(std::move(results[i]));
    }
  }

  // The last value; often more, some of them twice, parameters and constants among them, nested.
  NodeId results() {
    if (values_.empty()) return node_of({{}, Tensor::scalar(1.f, kFloat32), false});
    std::vector<NodeId> fields = {values_.back().node};
    for (int more = random_.below(4); more > 0; --more) fields.push_back(values_[any()].node);
    if (random_.below(4) == 0) fields.push_back(fields[0]);
    if (random_.below(4) == 0) fields.push_back(values_[0].node);
    if (random_.below(8) == 0) fields.push_back(builder_.tuple({fields.data(), 1}));
    return fields.size() == 1 ? fields[0] : builder_.tuple(fields);
  }

  Random random_;
  relay::FunctionBuilder builder_;
  std::vector<Value> values_;
  std::map<std::string, Tensor> inputs_;
};

}  // namespace

Graph random_graph(std::uint64_t seed) { return Grower(seed).run(); }

}  // namespace tessera::fuzz
