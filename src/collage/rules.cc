// SPDX-License-Identifier: Apache-2.0
#include "collage/rules.h"

#include <algorithm>
#include <string_view>

#include "collage/extract.h"
#include "collage/labels.h"
#include "relay/function_attributes.h"
#include "relay/patterns/pattern_groups.h"

namespace tessera::collage {
namespace {

using relay::PatternKind;
using relay::expr_facts::as;

// Says that another pattern, which has an entry of its own, matched as well; or how.
bool is_wrapper(PatternKind kind) {
  constexpr PatternKind kWrappers[] = {PatternKind::kEither, PatternKind::kAttr, PatternKind::kType,
                                       PatternKind::kDtype, PatternKind::kShape};
  return std::find(std::begin(kWrappers), std::end(kWrappers), kind) != std::end(kWrappers);
}

// What a sub-graph takes from outside: anything, or a variable, which only its owner can declare.
bool is_input(PatternKind kind) {
  return kind == PatternKind::kWildcard || kind == PatternKind::kVar;
}

IndexSet matched_nodes(const DataflowGraph& graph, const relay::Matcher& matcher) {
  std::vector<Index> inside;
  for (std::uint32_t p = 0; p < matcher.pattern().size(); ++p) {
    const PatternKind kind = matcher.pattern()[p].pattern->kind;
    if (is_input(kind) || is_wrapper(kind)) continue;
    for (const std::uint32_t e : matcher.matched(p)) {
      if (!graph.facts(e).is_inlinable) inside.push_back(e);
    }
  }
  std::sort(inside.begin(), inside.end());
  inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  return IndexSet(graph.size(), std::move(inside));
}

// Checks are about values of the function; its operators and `let` expressions are none.
bool refuses(const relay::CompositePattern& pattern, const relay::Matcher& matcher,
             const relay::IndexedNode& root, const Target& target) {
  if (!pattern.check) return false;
  return root.kind != relay::IndexedKind::kNode ||
         pattern.check(relay::form_group(matcher, 0).match, target).has_value();
}

// Calls of operators are computed by somebody, unless they only say something about values.
bool needs_kernel(const DataflowGraph& graph, Index index) {
  const auto& f = graph.function();
  if (graph[index].kind != relay::IndexedKind::kNode) return false;
  if (const relay::Operator* op = f.op(graph[index].node)) {
    constexpr std::string_view kHost[] = {"annotation.compiler_begin",
                                          "annotation.compiler_end",
                                          "device_copy",
                                          "shape_of",
                                          "vm.shape_of",
                                          "call_lowered"};
    return std::find(std::begin(kHost), std::end(kHost), op->name) == std::end(kHost);
  }
  if (as<relay::ValueCall>(graph.indexed(), index) == nullptr) return false;
  const auto* literal = f.as<relay::Literal>(f.operands(graph[index].node)[0]);
  return literal != nullptr && relay::is_primitive(literal->attrs);
}

// Branches that meet multiply what may be combined: beyond this it is not worth a search.
std::size_t most_candidates(const DataflowGraph& graph) { return 100'000 + 50 * graph.size(); }

Diagnostic too_many(const DataflowGraph& graph, const PlacementSpec& spec, std::size_t most) {
  return error(Code::kLimitExceeded, graph.function().location,
               "`{}` has more than {} ways to put operators of the function together", spec.name,
               most)
      .with_remedy("lower `tvm_max_depth` or `byoc_max_depth`");
}

// Each candidate of a rule as the function says.
template <class F>
Rule mapped(Rule rule, F change) {
  return [rule = std::move(rule), change = std::move(change)](
             const DataflowGraph& graph, const PlacementSpec& spec) -> Candidates {
    TESSERA_TRY(std::vector<Candidate> out, rule(graph, spec));
    for (Candidate& candidate : out) change(candidate);
    return out;
  };
}

}  // namespace

Rule match_pattern(const relay::CompositePattern& pattern, const ConstantPool* pool) {
  return [&pattern, pool](const DataflowGraph& graph, const PlacementSpec& spec) -> Candidates {
    std::vector<Candidate> out;
    relay::Matcher matcher(graph.indexed(), pattern.pattern, pool);
    for (Index index = 0; index < graph.size(); ++index) {
      if (!matcher.match(index) || refuses(pattern, matcher, graph[index], spec.target)) continue;
      IndexSet inside = matched_nodes(graph, matcher);
      if (inside.empty()) continue;
      SubGraph sub_graph(graph, std::move(inside));
      if (can_extract(graph, sub_graph)) out.push_back({"", std::move(sub_graph), &spec});
    }
    return out;
  };
}

Rule fusible_calls() {
  return [](const DataflowGraph& graph, const PlacementSpec& spec) -> Candidates {
    std::vector<Candidate> out;
    for (Index index = 0; index < graph.size(); ++index) {
      if (graph.facts(index).kind > relay::OpPattern::kOutFusable) continue;
      if (!relay::expr_facts::is_call(graph.indexed(), index)) continue;
      out.push_back(single_node(graph, spec, index));
    }
    return out;
  };
}

Rule host_nodes() {
  return [](const DataflowGraph& graph, const PlacementSpec& spec) -> Candidates {
    std::vector<Candidate> out;
    for (Index index = 0; index < graph.size(); ++index) {
      if (needs_kernel(graph, index)) continue;
      out.push_back(single_node(graph, spec, index, "host"));
      out.back().cost = Cost::of(0);
    }
    return out;
  };
}

Rule united(std::vector<Rule> rules) {
  return [rules = std::move(rules)](const DataflowGraph& graph,
                                    const PlacementSpec& spec) -> Candidates {
    std::vector<Candidate> out;
    for (const Rule& rule : rules) {
      TESSERA_TRY(std::vector<Candidate> some, rule(graph, spec));
      std::move(some.begin(), some.end(), std::back_inserter(out));
    }
    return out;
  };
}

Rule as_composite(std::string name, Rule rule) {
  return mapped(std::move(rule), [name = std::move(name)](Candidate& candidate) {
    candidate.sub_graph = candidate.sub_graph.with_attrs({{"Composite", name}});
    candidate.rule = nested_labels(name, candidate.rule);
  });
}

Rule as_primitive(Rule rule) {
  return mapped(std::move(rule), [](Candidate& candidate) {
    relay::Attrs attrs{{"Primitive", 1}};
    if (candidate.spec->target.is_external()) attrs.set("Compiler", candidate.spec->name);
    candidate.sub_graph = candidate.sub_graph.with_attrs(std::move(attrs));
  });
}

Rule combined(Rule rule, std::vector<Combiner> combiners, std::size_t max_depth) {
  return [=](const DataflowGraph& graph, const PlacementSpec& spec) -> Candidates {
    TESSERA_TRY(const std::vector<Candidate> seeds, rule(graph, spec));
    const std::size_t most = most_candidates(graph);
    CandidateSet candidates(seeds, most);
    do {
      for (const Combiner& combine : combiners) combine({graph, candidates, max_depth});
      if (candidates.is_overfull()) return fail(too_many(graph, spec, most));
    } while (candidates.next_round());
    return std::move(candidates).take();
  };
}

Rule only_valid(Rule rule, SubGraphLimits limits) {
  return [rule = std::move(rule), limits](const DataflowGraph& graph,
                                          const PlacementSpec& spec) -> Candidates {
    TESSERA_TRY(std::vector<Candidate> out, rule(graph, spec));
    std::erase_if(out, [&](const Candidate& candidate) {
      return !candidate.sub_graph.is_valid(graph, limits);
    });
    return out;
  };
}

}  // namespace tessera::collage
