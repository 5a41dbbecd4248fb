// SPDX-License-Identifier: Apache-2.0
#include "relay/patterns/pattern_groups.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::relay {

using expr_facts::as;

namespace {

class GroupFormer {
 public:
  GroupFormer(const Matcher& matcher, int number)
      : matcher_(matcher), graph_(matcher.graph()), f_(graph_.function()) {
    group_.root = matcher.matched(matcher.pattern().root())[0];
    group_.number = number;
  }

  PatternGroup run() {
    exclude_inner();
    for (std::uint32_t p = 0; p < matcher_.pattern().size(); ++p) add_inputs_of(p);
    find_own_parts();
    collect_inside();
    fill_match();
    return std::move(group_);
  }

 private:
  // What a dominator's parent and path matched, and all that is in the body of a function that
  // matched, are no inputs.
  void exclude_inner() {
    const PatternGraph& pattern = matcher_.pattern();
    for (std::uint32_t p = 0; p < pattern.size(); ++p) {
      if (pattern[p].pattern->kind == PatternKind::kDominator) {
        for (const std::size_t part : {0, 1}) {
          const auto matched = matcher_.matched(pattern[p].children[part]);
          inner_.insert(matched.begin(), matched.end());
        }
      }
      if (pattern[p].pattern->kind != PatternKind::kFunction) continue;
      for (const std::uint32_t e : matcher_.matched(p)) {
        if (const auto* literal = as<Literal>(graph_, e)) exclude_region(literal->body);
      }
    }
  }

  void exclude_region(RegionId region) {
    for (const NodeId param : f_.region(region).params) inner_.insert(graph_.index_of(param));
    for (const NodeId id : nodes_within(f_, region)) inner_.insert(graph_.index_of(id));
  }

  // Leaves contribute what they matched, calls and tuples of open length their operands.
  void add_inputs_of(std::uint32_t p) {
    const auto& [pattern, children] = matcher_.pattern()[p];
    const bool embeds = pattern->kind == PatternKind::kConstant ||
                        pattern->kind == PatternKind::kScalar ||
                        pattern->kind == PatternKind::kExpr;
    if (pattern->any && pattern->kind != PatternKind::kFunction) {
      for (const std::uint32_t e : matcher_.matched(p)) {
        const auto& inputs = graph_[e].inputs;
        const std::size_t first = pattern->kind == PatternKind::kCall ? 1 : 0;
        for (std::size_t i = first; i < inputs.size(); ++i) add_input(inputs[i], false);
      }
    } else if (children.empty() && !is_let_variable(p)) {
      for (const std::uint32_t e : matcher_.matched(p)) add_input(e, embeds);
    }
  }

  // The variable that a `let` of the pattern binds.
  bool is_let_variable(std::uint32_t p) const {
    const PatternGraph& pattern = matcher_.pattern();
    for (std::uint32_t q = p + 1; q < pattern.size(); ++q) {
      if (pattern[q].pattern->kind == PatternKind::kLet && pattern[q].children[0] == p) return true;
    }
    return false;
  }

  void add_input(std::uint32_t e, bool embeds) {
    const bool is_code = graph_[e].kind == IndexedKind::kOperator ||
                         graph_[e].kind == IndexedKind::kFunction ||
                         as<Literal>(graph_, e) != nullptr || as<GlobalRef>(graph_, e) != nullptr;
    if (is_code || inner_.contains(e)) return;
    if (embeds && as<Constant>(graph_, e) != nullptr) return;
    if (known_inputs_.insert(e).second) group_.inputs.push_back(e);
  }

  void find_own_parts() {
    const PatternGraph& pattern = matcher_.pattern();
    for (std::uint32_t p = 0; p < pattern.size(); ++p) {
      const PatternKind kind = pattern[p].pattern->kind;
      if (kind != PatternKind::kCall && kind != PatternKind::kTuple &&
          kind != PatternKind::kProject) {
        continue;
      }
      for (const std::uint32_t e : matcher_.matched(p)) {
        group_.reads_own_part = group_.reads_own_part || known_inputs_.contains(e);
      }
    }
  }

  // Depth first from the root down to the inputs; free variables that are met on the way become
  // inputs too.
  void collect_inside() {
    struct Step {
      std::uint32_t expr;
      std::vector<std::uint32_t> reads;
      std::size_t next = 0;
    };
    std::vector<Step> stack;
    std::unordered_set<std::uint32_t> seen, bound;  // never iterated
    const auto enter = [&](std::uint32_t e) {
      if (known_inputs_.contains(e) || !seen.insert(e).second) return;
      if (graph_[e].kind == IndexedKind::kOperator) return;
      bind_variables(e, bound);
      if (expr_facts::is_variable(graph_, e, "") && !bound.contains(e)) {
        add_input(e, false);
      } else {
        stack.push_back({e, reads(e)});
      }
    };
    enter(group_.root);
    while (!stack.empty()) {
      Step& top = stack.back();
      if (top.next < top.reads.size()) {
        enter(top.reads[top.next++]);
        continue;
      }
      group_.inside.push_back(top.expr);
      group_.name += name_of(top.expr);
      stack.pop_back();
    }
  }

  void bind_variables(std::uint32_t e, std::unordered_set<std::uint32_t>& bound) const {
    if (graph_[e].kind == IndexedKind::kLet) bound.insert(graph_.index_of(graph_[e].node));
    if (const auto* literal = as<Literal>(graph_, e)) {
      for (const NodeId param : f_.region(literal->body).params) {
        bound.insert(graph_.index_of(param));
      }
    }
  }

  std::vector<std::uint32_t> reads(std::uint32_t e) const {
    std::vector<std::uint32_t> out = graph_[e].inputs;
    if (graph_[e].kind == IndexedKind::kLet)
      out.insert(out.begin(), graph_.index_of(graph_[e].node));
    return out;
  }

  std::string name_of(std::uint32_t e) const {
    if (graph_[e].kind == IndexedKind::kLet) return "Let_";
    if (const auto* call = as<OpCall>(graph_, e)) return fmt::format("{}_", call->op->name);
    if (as<ValueCall>(graph_, e) != nullptr) return "Call_";
    if (as<Tuple>(graph_, e) != nullptr) return "Tuple_";
    if (const auto* p = as<Project>(graph_, e)) return fmt::format("TupleGetItem{}_", p->index);
    if (as<If>(graph_, e) != nullptr) return "If_";
    return as<Literal>(graph_, e) != nullptr ? "Function" : "";
  }

  void fill_match() {
    Match& m = group_.match;
    m.function = &f_;
    m.pool = matcher_.pool();
    m.root = graph_[group_.root].node;
    for (const std::uint32_t e : group_.inside) {
      if (graph_[e].kind == IndexedKind::kNode) m.inside.push_back(graph_[e].node);
    }
    std::sort(m.inside.begin(), m.inside.end());
    for (const std::uint32_t e : group_.inputs) m.inputs.push_back(graph_[e].node);
    for (std::uint32_t p = 0; p < matcher_.pattern().size(); ++p) {
      const std::string& capture = matcher_.pattern()[p].pattern->capture;
      if (capture.empty() || matcher_.matched(p).empty()) continue;
      m.captures.emplace(capture, graph_[matcher_.matched(p)[0]].node);
    }
  }

  const Matcher& matcher_;
  const IndexedGraph& graph_;
  const Function& f_;
  PatternGroup group_;
  std::unordered_set<std::uint32_t> inner_, known_inputs_;  // never iterated
};

}  // namespace

bool is_function_pattern(const Pattern& pattern) {
  return pattern.get()->kind == PatternKind::kFunction;
}

PatternGroup form_group(const Matcher& matcher, int number) {
  return GroupFormer(matcher, number).run();
}

std::optional<Match> match(const IndexedGraph& graph, const Pattern& pattern, NodeId root,
                           const ConstantPool* pool) {
  TESSERA_CHECK(graph.index_of(root) != IndexedGraph::kNone, "the root of a match is not live");
  Matcher matcher(graph, pattern, pool);
  if (!matcher.match(graph.index_of(root))) return std::nullopt;
  return form_group(matcher, 0).match;
}

std::optional<Match> match(const Function& f, const Pattern& pattern, NodeId root,
                           const ConstantPool* pool) {
  return match(IndexedGraph(f), pattern, root, pool);
}

PatternGrouper::PatternGrouper(const IndexedGraph& graph, const Pattern& pattern,
                               const ConstantPool* pool, Observer observer)
    : graph_(graph),
      f_(graph.function()),
      matcher_(graph, pattern, pool),
      observer_(std::move(observer)),
      skipped_(graph.size()),
      claimed_(graph.size()) {}

std::vector<PatternGroup> PatternGrouper::run() {
  constexpr const char* kMark = "PartitionedFromPattern";
  if (f_.attrs.find(kMark) != nullptr) return {};
  skip_partitioned();
  for (auto root = static_cast<std::uint32_t>(graph_.size()); root-- > 0;) {
    if (!claimed_[root] && !skipped_[root]) try_root(root);
  }
  return std::move(groups_);
}

// A literal that carries the mark, and everything in its body.
void PatternGrouper::skip_partitioned() {
  std::vector<bool> region_skipped(f_.num_regions());
  for (std::size_t i = 0; i < f_.num_regions(); ++i) {
    const NodeId owner = f_.region(RegionId(i)).owner;
    const auto* literal = owner ? f_.as<Literal>(owner) : nullptr;
    const bool marked =
        literal != nullptr && literal->attrs.find("PartitionedFromPattern") != nullptr;
    const RegionId parent = f_.region(RegionId(i)).parent;
    region_skipped[i] = marked || (parent && region_skipped[parent.index()]);
    if (marked && graph_.index_of(owner) != IndexedGraph::kNone) {
      skipped_[graph_.index_of(owner)] = true;
    }
  }
  for (std::uint32_t e = 0; e < graph_.size(); ++e) {
    if (graph_[e].node && region_skipped[f_[graph_[e].node].region.index()]) skipped_[e] = true;
  }
}

void PatternGrouper::try_root(std::uint32_t root) {
  if (!matcher_.match(root)) {
    if (observer_ && matcher_.is_candidate(root)) observer_(root, matcher_.why_not());
    return;
  }
  PatternGroup group = form_group(matcher_, next_number_++);
  const std::string why = why_rejected(group);
  if (observer_) observer_(root, why);
  if (!why.empty()) return;
  for (const std::uint32_t e : group.inside) claimed_[e] = true;
  groups_.push_back(std::move(group));
}

std::string PatternGrouper::why_rejected(const PatternGroup& group) const {
  const std::uint32_t root = group.root;
  if (group.inside.empty() || group.inside.back() != root) return "there is nothing to compute";
  if (graph_[root].kind != IndexedKind::kNode || as<Literal>(graph_, root) != nullptr) {
    return fmt::format("{} cannot be taken out", expr_facts::describe(graph_, root));
  }
  std::unordered_set<std::uint32_t> inside(group.inside.begin(), group.inside.end());
  for (const std::uint32_t e : group.inside) {
    const bool is_shared = as<Constant>(graph_, e) != nullptr ||
                           as<Literal>(graph_, e) != nullptr || as<GlobalRef>(graph_, e) != nullptr;
    if (is_shared) continue;
    if (claimed_[e]) {
      return fmt::format("{} belongs to another match", expr_facts::describe(graph_, e));
    }
    if (e == root) continue;
    for (const std::uint32_t user : graph_[e].outputs) {
      if (inside.contains(user) || graph_.dominates(root, user)) continue;
      return fmt::format("{} is used outside by {}", expr_facts::describe(graph_, e),
                         expr_facts::describe(graph_, user));
    }
  }
  return "";
}

}  // namespace tessera::relay
