// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/reduce.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "relay/rewrite.h"

namespace tessera::fuzz {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

bool is_result_tuple(const Function& f) { return f.as<relay::Tuple>(f.result()) != nullptr; }

std::vector<NodeId> results_of(const Function& f) {
  if (!is_result_tuple(f)) return {f.result()};
  const auto fields = f.operands(f.result());
  return {fields.begin(), fields.end()};
}

// Nodes of the body that compute a tensor.
std::vector<NodeId> computing_nodes(const Function& f) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const NodeId id(i);
    if (f[id].region != Function::kBody || f.operands(id).empty()) continue;
    if (f.type(id).is_tensor()) nodes.push_back(id);
  }
  return nodes;
}

// By node, then by run.
using Values = std::map<NodeId, std::vector<Tensor>>;

Values values_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<NodeId> fields;
  const auto close = [&](Copier& c, relay::RegionId region) {
    if (region != Function::kBody) return c.map(c.from().region(region).result);
    for (const NodeId id : nodes) fields.push_back(c.map(id));
    return c.builder().tuple(fields);
  };
  Function all = relay::rewrite(graph.function, {}, {}, close);
  all.result_annotation = {};
  auto typed = ops::infer_types(all);
  TESSERA_CHECK(typed.has_value(), "values of a graph: {}", render(typed.error()));
  Values values;
  for (const Run& run : graph.runs) {
    const auto tensors = ops::evaluate(*typed, {}, run.inputs);
    for (std::size_t i = 0; i < nodes.size(); ++i) values[nodes[i]].push_back(tensors[i]);
  }
  return values;
}

// The graph with fewer results and with parameters in place of `cut` nodes.
class Variant {
 public:
  Variant(const Graph& graph, std::set<NodeId> cut, std::vector<NodeId> results,
          const Values& values)
      : graph_(graph), cut_(std::move(cut)), results_(std::move(results)), values_(values) {}

  std::optional<Graph> make() {
    const Function& f = graph_.function;
    const auto replace = [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      if (!cut_.contains(id)) return std::nullopt;
      const std::string name = fmt::format("cut{}", id.index());
      return c.builder().param(name, f.type(id));
    };
    const auto close = [&](Copier& c, relay::RegionId region) {
      if (region != Function::kBody) return c.map(f.region(region).result);
      std::vector<NodeId> fields;
      for (const NodeId result : results_) fields.push_back(c.map(result));
      return fields.size() == 1 ? fields[0] : c.builder().tuple(fields);
    };
    Function variant =
        without_unread_params(relay::without_dead_nodes(relay::rewrite(f, replace, {}, close)));
    variant.result_annotation = {};
    auto typed = ops::infer_types(std::move(variant));
    if (!typed) return std::nullopt;
    return with_inputs(std::move(typed).value());
  }

 private:
  static Function without_unread_params(const Function& f) {
    const relay::Uses uses(f);
    return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      const bool is_param = f.as<relay::Param>(id) != nullptr && f[id].region == Function::kBody;
      if (!is_param || !uses.of(id).empty() || uses.is_result(id)) return std::nullopt;
      return c.builder().constant(Tensor::scalar(0.f, kFloat32));
    });
  }

  Graph with_inputs(Function f) const {
    Graph out = with_readable_sizes({std::move(f), graph_.symbols, {}});
    for (std::size_t r = 0; r < graph_.runs.size(); ++r) {
      Run& run = out.runs.emplace_back(Run{graph_.runs[r].sizes, {}});
      for (const NodeId param : out.function.params()) {
        run.inputs.push_back(input(out.function, param, r));
      }
    }
    return out;
  }

  Tensor input(const Function& f, NodeId param, std::size_t r) const {
    const std::string& name = f.as<relay::Param>(param)->name;
    for (const auto& [id, value] : values_) {
      if (cut_.contains(id) && name == fmt::format("cut{}", id.index())) return value[r];
    }
    const auto params = graph_.function.params();
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (graph_.function.as<relay::Param>(params[i])->name == name) {
        return graph_.runs[r].inputs[i];
      }
    }
    return size_tensor(f.type(param), graph_.runs[r]);
  }

  const Graph& graph_;
  const std::set<NodeId> cut_;
  const std::vector<NodeId> results_;
  const Values& values_;
};

// The minimising delta debugging of Zeller and Hildebrandt: the items that must stay.
template <class T>
std::vector<T> minimal(std::vector<T> items,
                       const std::function<bool(const std::vector<T>&)>& test) {
  for (std::size_t parts = 2; items.size() > 1;) {
    parts = std::min(parts, items.size());
    bool smaller = false;
    for (std::size_t p = 0; p < parts && !smaller; ++p) {
      std::vector<T> rest;
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (i * parts / items.size() != p) rest.push_back(items[i]);
      }
      if (!test(rest)) continue;
      items = std::move(rest);
      parts = std::max<std::size_t>(parts - 1, 2);
      smaller = true;
    }
    if (smaller) continue;
    if (parts == items.size()) break;
    parts *= 2;
  }
  return items;
}

}  // namespace

int count_of_calls(const Function& f) {
  int count = 0;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    count += f.operands(NodeId(i)).empty() ? 0 : 1;
  }
  return count;
}

namespace {

using Nodes = std::vector<NodeId>;

class Reducer {
 public:
  Reducer(const Graph& graph, const std::function<bool(const Graph&)>& fails, int most_tries)
      : graph_(graph),
        fails_(fails),
        tries_left_(most_tries),
        nodes_(computing_nodes(graph.function)),
        values_(values_of(graph, nodes_)),
        kept_(nodes_),
        best_(graph) {}

  Graph run() {
    results_ = minimal<NodeId>(results_of(graph_.function),
                               [&](const Nodes& some) { return still_fails(nodes_, some); });
    drop_lets();
    move_result_up();
    minimal<NodeId>(kept_, [&](const Nodes& some) { return still_fails(some, results_); });
    keep_one_run();
    close_sizes();
    return std::move(best_);
  }

 private:
  bool still_fails(const Nodes& kept, const Nodes& results) {
    if (tries_left_ == 0 || results.empty()) return false;
    const std::set<NodeId> stay(kept.begin(), kept.end());
    std::set<NodeId> cut;
    for (const NodeId id : nodes_) {
      if (!stay.contains(id)) cut.insert(id);
    }
    auto smaller = Variant(graph_, std::move(cut), results, values_).make();
    return smaller && take(*std::move(smaller));
  }

  // A `let` is there although nothing reads it. Where what fails is in its value alone, that value
  // takes the place of results that have nothing to do with it.
  void drop_lets() {
    for (const NodeId id : nodes_) {
      if (graph_.function.as<relay::Let>(id) == nullptr) continue;
      Nodes others = kept_;
      std::erase(others, id);
      const NodeId value = graph_.function.operands(id)[0];
      if (still_fails(others, results_)) {
        kept_ = std::move(others);
      } else if (values_.contains(value) && still_fails(others, {value})) {
        kept_ = std::move(others);
        results_ = {value};
      }
    }
  }

  // The tensors that a node reads, be it as fields of tuples.
  Nodes tensors_read_by(NodeId reader) const {
    Nodes tensors;
    for (const NodeId id : graph_.function.operands(reader)) {
      if (values_.contains(id)) {
        tensors.push_back(id);
      } else if (graph_.function.as<relay::Tuple>(id) != nullptr) {
        const Nodes fields = tensors_read_by(id);
        tensors.insert(tensors.end(), fields.begin(), fields.end());
      }
    }
    return tensors;
  }

  // Users of what fails cannot be cut, as that would cut it off, too: the result moves up instead.
  void move_result_up() {
    for (bool moves = results_.size() == 1; moves;) {
      const Nodes operands = tensors_read_by(results_[0]);
      const auto next = std::find_if(operands.begin(), operands.end(),
                                     [&](NodeId id) { return still_fails(kept_, {id}); });
      moves = next != operands.end();
      if (moves) results_ = {*next};
    }
  }

  bool take(Graph smaller) {
    if (tries_left_ == 0) return false;
    --tries_left_;
    if (!fails_(smaller)) return false;
    best_ = std::move(smaller);
    return true;
  }

  void keep_one_run() {
    const std::vector<Run> runs = best_.runs;
    for (std::size_t r = 0; r < runs.size() && runs.size() > 1; ++r) {
      Graph smaller = best_;
      smaller.runs = {runs[r]};
      if (take(std::move(smaller))) return;
    }
  }

  // Numbers for symbols that do not matter.
  void close_sizes() {
    if (best_.runs.size() > 1) return;
    const Sizes sizes = best_.runs[0].sizes;
    for (const auto& size : sizes) {
      Graph smaller = best_;
      auto function = closed(smaller.function, {size});
      if (!function) continue;
      smaller.function = *std::move(function);
      smaller.symbols.erase(size.first);
      smaller.runs[0].sizes.erase(size.first);
      take(std::move(smaller));
    }
  }

  const Graph& graph_;
  const std::function<bool(const Graph&)>& fails_;
  int tries_left_;
  const Nodes nodes_;  // all that compute
  const Values values_;
  Nodes kept_, results_;
  Graph best_;
};

}  // namespace

Graph reduced(const Graph& graph, const std::function<bool(const Graph&)>& fails, int most_tries) {
  return Reducer(graph, fails, most_tries).run();
}

}  // namespace tessera::fuzz
