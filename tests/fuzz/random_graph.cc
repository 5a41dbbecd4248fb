// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/random_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "ops/attrs/shape.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "relay/rewrite.h"
#include "tests/fuzz/recipes.h"
#include "tests/fuzz/shaken.h"

namespace tessera::fuzz {
namespace {

using relay::Function;
using relay::NodeId;

constexpr std::int64_t kMostElements = 2048;

// A value on the graph's inputs, for each set of sizes.
struct Value {
  NodeId node;
  Type type;
  std::vector<Shaken> runs;
};

// What a step reads: a value that is there, or a new one.
struct Operand {
  std::optional<std::size_t> value;  // index into the grower's values
  Type type;
  std::vector<Tensor> fresh;  // one a run
  bool is_constant = false;
};

// A call, and what it reads.
struct Step {
  const relay::Operator* op = nullptr;
  Function sample;
  std::vector<Operand> operands;
};

bool is_too_large(const Tensor& t) { return t.num_elements() > kMostElements; }

// Any size remains of nothing: numbers say 0 where symbols have cancelled.
bool is_ambiguous(const Tensor& t, const Type& inferred) {
  return t.num_elements() == 0 && !is_dynamic(inferred) && !(t.type() == inferred);
}

class Grower {
 public:
  Grower(std::uint64_t seed, Shapes shapes) : random_(seed), is_open_(shapes == Shapes::kOpen) {
    if (is_open_) sizes_ = OpenSizes(seed, random_);
  }

  Graph run() {
    const int steps = 3 + random_.below(8);
    for (int i = 0; i < steps; ++i) grow();
    const NodeId result = results();
    Function f = relay::without_dead_nodes(builder_.finish(result));
    auto typed = ops::infer_types(std::move(f));
    TESSERA_CHECK(typed.has_value(), "a random graph has no type: {}", render(typed.error()));
    const SymbolTable symbols = sizes_.ranges_of(*typed);
    Graph graph = with_readable_sizes({std::move(typed).value(), symbols, {}});
    for (std::size_t r = 0; r < sizes_.runs().size(); ++r)
      graph.runs.push_back(inputs_of(graph, r));
    return graph;
  }

 private:
  Run inputs_of(const Graph& graph, std::size_t r) const {
    Run run{sizes_.runs()[r], {}};
    for (const NodeId param : graph.function.params()) {
      const auto given = inputs_.find(graph.function.as<relay::Param>(param)->name);
      run.inputs.push_back(given != inputs_.end() ? given->second[r]
                                                  : size_tensor(graph.function.type(param), run));
    }
    return run;
  }

  void grow() {
    if (values_.size() > 2 && random_.below(10) == 0) return repack();
    const int attempts = is_open_ ? 24 : 12;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      const auto& of_operator = random_.among(recipes(is_open_));
      const Recipe& recipe = random_.among(of_operator);
      const std::optional<Step> step = is_open_ ? adapted(recipe) : as_it_is(recipe, attempt);
      if (!step) continue;
      const bool uses_any = std::any_of(step->operands.begin(), step->operands.end(),
                                        [](const Operand& o) { return o.value.has_value(); });
      if (!uses_any && values_.size() > 3 && attempt + 1 < attempts) continue;
      if (take(*step)) return;
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

  // The sample with its sizes, or, in two attempts of three, with those of values that are there.
  std::optional<Step> as_it_is(const Recipe& recipe, int attempt) {
    const auto& wanted = recipe.sample.inputs;
    const std::vector<Tensor> fresh = ops::random_inputs(recipe.sample, random_.bits());
    const bool same_shapes = attempt % 3 == 2 || has_own_domain_of_integers(recipe.sample);
    Step step{recipe.op, recipe.sample.function, {}};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Operand operand{{}, fresh[i].type(), {fresh[i]}, random_.below(5) < 2};
      for (int tries = 0; !values_.empty() && tries < 4 && !operand.value; ++tries) {
        if (random_.below(6) == 0) break;
        const std::size_t candidate =
            like_first(recipe, step.operands) ? *step.operands[0].value : any();
        if (fits(recipe, i, values_[candidate], same_shapes)) use(operand, candidate);
      }
      step.operands.push_back(std::move(operand));
    }
    return step;
  }

  void use(Operand& operand, std::size_t candidate) const {
    operand.value = candidate;
    operand.type = values_[candidate].type;
  }

  // The second of two operands alike often has the type of the first.
  bool like_first(const Recipe& recipe, const std::vector<Operand>& before) {
    const auto& wanted = recipe.sample.inputs;
    return before.size() == 1 && before[0].value && wanted[0].type == wanted[1].type &&
           random_.below(4) == 0;
  }

  static bool is_loose(const ops::Sample& sample, const ops::SampleInput& wanted) {
    const Function& f = sample.function;
    const bool to_integers = !flatten(f.type(f.result()))[0].dtype().is_float();
    return has_default_domain(wanted) && wanted.type.dtype().is_float() && !to_integers;
  }

  static bool fits(const Recipe& recipe, std::size_t operand, const Value& value, bool same_shape) {
    const ops::SampleInput& wanted = recipe.sample.inputs[operand];
    const Tensor& t = value.runs[0].exact;
    if (t.dtype != wanted.type.dtype() || t.shape.size() != wanted.type.rank()) return false;
    if (same_shape && !(t.type() == wanted.type)) return false;
    return is_loose(recipe.sample, wanted) || is_within(t, wanted.low, wanted.high);
  }

  // The sample with sizes, types and layouts that are not its own: those of values that are there,
  // then open ones.
  std::optional<Step> adapted(const Recipe& recipe) {
    Adaptation adaptation(recipe, sizes_, random_);
    const std::size_t count = recipe.sample.inputs.size();
    Step step{recipe.op, adaptation.sample().function, std::vector<Operand>(count)};
    for (std::size_t i = 0; i < count; ++i) {
      for (int tries = 0; !values_.empty() && tries < 4 && !step.operands[i].value; ++tries) {
        if (random_.below(6) == 0) break;
        const std::size_t candidate = any();
        if (!adaptation.take(i, values_[candidate].type, random_)) continue;
        use(step.operands[i], candidate);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      Operand& operand = step.operands[i];
      if (!operand.value) operand.type = adaptation.fresh_type(i, random_);
    }
    for (std::size_t i = 0; i < count; ++i) {
      Operand& operand = step.operands[i];
      if (!(operand.value ? is_in_domain(adaptation, i, operand) : make(adaptation, i, operand))) {
        return std::nullopt;
      }
    }
    if (random_.below(3) == 0) open_constants(step);
    return step;
  }

  void open_constants(Step& step) const {
    OpenedConstants opened = with_inputs_for_constants(step.sample);
    std::vector<Operand> operands;
    auto given = step.operands.begin();
    for (const std::optional<Tensor>& value : opened.values) {
      operands.push_back(value ? Operand{{}, value->type(), {sizes_.runs().size(), *value}, false}
                               : *given++);
    }
    step.sample = std::move(opened.function);
    step.operands = std::move(operands);
  }

  bool is_in_domain(const Adaptation& adaptation, std::size_t i, const Operand& operand) const {
    if (is_loose(adaptation.sample(), adaptation.sample().inputs[i])) return true;
    const Value& value = values_[*operand.value];
    for (std::size_t r = 0; r < value.runs.size(); ++r) {
      const Tensor& t = value.runs[r].exact;
      const auto domain = adaptation.domain(i, operand.type, sizes_.runs()[r]);
      if (t.num_elements() != 0 && !(domain && is_within(t, domain->low, domain->high)))
        return false;
    }
    return true;
  }

  bool make(const Adaptation& adaptation, std::size_t i, Operand& operand) {
    std::vector<ops::SampleInput> domains;
    for (const Sizes& run : sizes_.runs()) {
      const Type type = closed(operand.type, run);
      const auto shape = constant_shape(type.shape());
      if (!shape || product(*shape) > kMostElements) return false;
      const auto domain = adaptation.domain(i, operand.type, run);
      if (!domain && product(*shape) != 0) return false;
      domains.push_back(domain.value_or(ops::SampleInput{type, 0, 0, false}));
    }
    for (const ops::SampleInput& domain : domains) {
      ops::Sample sample;
      sample.inputs = {domain};
      operand.fresh.push_back(ops::random_inputs(sample, random_.bits())[0]);
    }
    if (is_dynamic(operand.type) || random_.below(5) >= 2) return true;
    const Tensor& value = operand.fresh[0];  // what is right for one set of sizes, need not be
    operand.is_constant = std::all_of(domains.begin(), domains.end(), [&](const auto& domain) {
      return domain.special || is_within(value, domain.low, domain.high);
    });
    if (operand.is_constant) operand.fresh.assign(operand.fresh.size(), Tensor(value));
    return true;
  }

  bool take(const Step& step) {
    std::vector<Type> types;
    for (const Operand& operand : step.operands) types.push_back(operand.type);
    const std::optional<Function> call = with_operands(step.sample, types);
    if (!call || !has_allowed_sizes(*call) || !do_sizes_agree(*step.op, *call)) return false;
    auto results = computed(step, *call);
    if (!results) return false;
    std::vector<NodeId> arguments;
    for (const Operand& operand : step.operands) arguments.push_back(node_of(operand));
    add_results(*call, arguments, std::move(*results));
    return true;
  }

  // What inference wants to be the same must be in each run, even where the reference takes a size
  // of 1 for any other.
  bool do_sizes_agree(const relay::Operator& op, const Function& call) const {
    for (std::size_t i = 0; i < call.num_nodes(); ++i) {
      if (call.op(NodeId(i)) != &op) continue;
      const relay::Attrs& attrs = call.as<relay::OpCall>(NodeId(i))->attrs;
      std::vector<Type> types;
      for (const NodeId operand : call.operands(NodeId(i))) types.push_back(call.type(operand));
      // The reference drops sizes that are 1 in this run alone.
      const bool drops_ones =
          op.name == "squeeze" && !relay::read_attrs<ops::SqueezeAttrs>(attrs).axis;
      if (drops_ones && is_dynamic(types[0])) return false;
      const std::vector<const Tensor*> values(types.size(), nullptr);
      std::vector<relay::Agreement> agreements;
      if (!op.infer({types, values, attrs, {}, op.name, {}, &agreements})) return false;
      for (const relay::Agreement& agreement : agreements) {
        if (agreement.a.is_unknown() || agreement.b.is_unknown()) continue;
        for (const Sizes& run : sizes_.runs()) {
          if (!(closed(agreement.a, run) == closed(agreement.b, run))) return false;
        }
      }
    }
    return true;
  }

  // Sizes that data decide are there where others are open.
  bool has_allowed_sizes(const Function& call) {
    for (const Type& t : flatten(call.type(call.result()))) {
      if (!is_open_ && is_dynamic(t)) return false;
      if (!has_names(t.shape()) && random_.below(3) == 0) return false;
      for (const Sizes& run : sizes_.runs()) {
        const auto shape = constant_shape(closed(t, run).shape());
        if (!shape) continue;
        // What reaches over its input has less than nothing.
        if (std::ranges::any_of(*shape, [](std::int64_t d) { return d < 0; })) return false;
        if (product(*shape) > kMostElements) return false;
      }
    }
    return true;
  }

  static std::int64_t product(const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    return count;
  }

  // The results in each run, unless there is a run in which they are too large, or too sensitive to
  // what their operands are exactly, or for which the sizes are wrong.
  std::optional<std::vector<Value>> computed(const Step& step, const Function& call) {
    const std::vector<Type> types = flatten(call.type(call.result()));
    std::vector<Value> results;
    for (const Type& type : types) results.push_back({{}, type, {}});
    for (std::size_t r = 0; r < sizes_.runs().size(); ++r) {
      try {
        auto of_run = computed(step, call, r);
        if (!of_run) return std::nullopt;
        for (std::size_t i = 0; i < types.size(); ++i) {
          results[i].runs.push_back(std::move((*of_run)[i]));
        }
      } catch (const ops::CannotEvaluate&) {
        return std::nullopt;
      }
    }
    return results;
  }

  std::optional<std::vector<Shaken>> computed(const Step& step, const Function& call,
                                              std::size_t r) {
    std::vector<Tensor> inputs;
    for (const Operand& operand : step.operands) {
      inputs.push_back(operand.value ? values_[*operand.value].runs[r].exact : operand.fresh[r]);
    }
    std::vector<Shaken> results;
    const std::vector<Type> types = flatten(call.type(call.result()));
    for (Tensor& exact : ops::evaluate(call, {}, inputs)) {
      if (is_too_large(exact) || !is_small(exact)) return std::nullopt;
      if (is_ambiguous(exact, closed(types[results.size()], sizes_.runs()[r]))) return std::nullopt;
      results.push_back({std::move(exact), {}});
    }
    // What unpacks integers to floating point is injective, too, and rounds.
    const bool moves_only = step.op->pattern == relay::OpPattern::kInjective && !inputs.empty() &&
                            inputs[0].dtype == results[0].exact.dtype;
    for (int s = 0; s < kShakes; ++s) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Operand& operand = step.operands[i];
        if (operand.value) inputs[i] = values_[*operand.value].runs[r].off[s];
      }
      const std::vector<Tensor> off = ops::evaluate(call, {}, inputs);
      for (std::size_t k = 0; k < off.size(); ++k) {
        const double tolerance = ops::graph_tolerance(off[k].dtype) / 4;
        if (!ops::first_difference(off[k], results[k].exact, tolerance).empty()) return {};
        results[k].off[s] = moves_only ? off[k] : shake(off[k], random_);
      }
    }
    return results;
  }

  NodeId node_of(const Operand& operand) {
    if (operand.value) return values_[*operand.value].node;
    Value value{{}, operand.type, {}};
    for (const Tensor& t : operand.fresh) value.runs.push_back(unshaken(t));
    if (operand.is_constant) {
      value.node = builder_.constant(operand.fresh[0]);
    } else {
      const std::string name = fmt::format("x{}", inputs_.size());
      value.node = builder_.param(name, operand.type);
      inputs_.emplace(name, operand.fresh);
    }
    values_.push_back(value);
    return value.node;
  }

  void add_results(const Function& call, const std::vector<NodeId>& arguments,
                   std::vector<Value> results) {
    NodeId result;
    if (random_.below(8) == 0) {
      result = builder_.call_value(relay::embed(builder_, call), arguments);
    } else {
      result = relay::inline_call(builder_, call, arguments);
    }
    if (random_.below(12) == 0) result = builder_.let(fmt::format("v{}", values_.size()), result);
    const bool is_tuple = call.type(call.result()).is_tuple();
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].node = is_tuple ? builder_.project(result, static_cast<int>(i)) : result;
      values_.push_back(std::move(results[i]));
    }
  }

  // The last value; often more, some of them twice, parameters and constants among them, nested.
  NodeId results() {
    if (values_.empty()) {
      const Tensor one = Tensor::scalar(1.f, kFloat32);
      return node_of({{}, one.type(), {sizes_.runs().size(), one}, false});
    }
    std::vector<NodeId> fields = {values_.back().node};
    for (int more = random_.below(4); more > 0; --more) fields.push_back(values_[any()].node);
    if (random_.below(4) == 0) fields.push_back(fields[0]);
    if (random_.below(4) == 0) fields.push_back(values_[0].node);
    if (is_open_) add_states(fields);
    if (random_.below(8) == 0) fields.push_back(builder_.tuple({fields.data(), 1}));
    return fields.size() == 1 ? fields[0] : builder_.tuple(fields);
  }

  // Values of an input's type: what a caller may keep in that input's memory.
  void add_states(std::vector<NodeId>& fields) {
    const auto is_input = [&](const Value& v) {
      return builder_.peek().as<relay::Param>(v.node) != nullptr;
    };
    for (const Value& value : values_) {
      if (is_input(value) || random_.below(2) == 0) continue;
      const bool is_state = std::any_of(values_.begin(), values_.end(), [&](const Value& other) {
        return is_input(other) && has_names(value.type.shape()) && other.type == value.type;
      });
      if (is_state) fields.push_back(value.node);
    }
  }

  Random random_;
  const bool is_open_;
  OpenSizes sizes_;
  relay::FunctionBuilder builder_;
  std::vector<Value> values_;
  std::map<std::string, std::vector<Tensor>> inputs_;  // one a run
};

}  // namespace

Graph random_graph(std::uint64_t seed, Shapes shapes) { return Grower(seed, shapes).run(); }

}  // namespace tessera::fuzz
