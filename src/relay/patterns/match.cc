// SPDX-License-Identifier: Apache-2.0
// The matching algorithm: memo, rollback, commutation, dominators (relay-spec 2.4).
#include <algorithm>
#include <unordered_set>

#include "relay/patterns/matcher.h"

namespace tessera::relay {

using expr_facts::as;

Matcher::Matcher(const IndexedGraph& graph, const Pattern& pattern, const ConstantPool* pool)
    : graph_(graph),
      f_(graph.function()),
      pool_(pool),
      pattern_(pattern),
      pattern_size_(pattern_.size()),
      memo_(pattern_size_) {}

bool Matcher::match(std::uint32_t root) {
  rollback(0);
  failure_ = {};
  memoize_ = true;
  const bool found = visit(pattern_.root(), root);
  pattern_.truncate(pattern_size_);
  memo_.resize(pattern_size_);
  std::erase_if(trail_, [&](std::uint32_t p) { return p >= pattern_size_; });
  return found;
}

NodeId Matcher::captured(std::string_view name) const {
  for (std::uint32_t p = 0; p < pattern_.size(); ++p) {
    if (pattern_[p].pattern->capture == name && !memo_[p].empty()) return graph_[memo_[p][0]].node;
  }
  return {};
}

void Matcher::rollback(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) memo_[trail_.back()].pop_back();
}

bool Matcher::fail_at(const PatternNode& p, std::uint32_t e, const char* what) {
  if (failure_.pattern == nullptr || trail_.size() > failure_.progress) {
    failure_ = {&p, e, trail_.size(), what};
  }
  return false;
}

bool Matcher::visit(std::uint32_t p, std::uint32_t e) {
  if (memoize_ && !memo_[p].empty()) {
    return memo_[p][0] == e || fail_at(*pattern_[p].pattern, e, "it is another value than before");
  }
  const std::size_t mark = trail_.size();
  if (!matches(p, e)) {
    rollback(mark);
    return false;
  }
  memo_[p].push_back(e);
  trail_.push_back(p);
  return true;
}

bool Matcher::matches(std::uint32_t p, std::uint32_t e) {
  const auto& [pattern, children] = pattern_[p];
  switch (pattern->kind) {
    case PatternKind::kWildcard:
    case PatternKind::kVar:
    case PatternKind::kConstant:
    case PatternKind::kScalar:
    case PatternKind::kOperator:
    case PatternKind::kGlobal:
    case PatternKind::kExpr:
      return matches_leaf(*pattern, e) || fail_at(*pattern, e);
    case PatternKind::kCall:
      return expr_facts::is_call(graph_, e) ? matches_call(p, e) : fail_at(*pattern, e);
    case PatternKind::kFunction:
      return matches_function(p, e);
    case PatternKind::kIf:
      if (as<If>(graph_, e) == nullptr) return fail_at(*pattern, e);
      return matches_in_order(children, graph_[e].inputs);
    case PatternKind::kLet:
      return matches_let(p, e);
    case PatternKind::kTuple:
      return matches_tuple(p, e);
    case PatternKind::kProject: {
      const auto* project = as<Project>(graph_, e);
      if (project == nullptr) return fail_at(*pattern, e);
      if (pattern->index >= 0 && pattern->index != project->index) {
        return fail_at(*pattern, e, "the index differs");
      }
      return matches_in_order(children, graph_[e].inputs);
    }
    case PatternKind::kEither: {
      // `children` may move when the matcher makes up patterns.
      const std::uint32_t left = children[0], right = children[1];
      return visit(left, e) || visit(right, e);
    }
    case PatternKind::kAttr:
    case PatternKind::kType:
    case PatternKind::kDtype:
    case PatternKind::kShape:
      return matches_constraint(p, e);
    case PatternKind::kDominator:
      return matches_dominator(p, e);
  }
  return false;
}

bool Matcher::matches_leaf(const PatternNode& p, std::uint32_t e) const {
  switch (p.kind) {
    case PatternKind::kVar:
      return expr_facts::is_variable(graph_, e, p.name);
    case PatternKind::kConstant:
      return as<Constant>(graph_, e) != nullptr;
    case PatternKind::kScalar:
      return expr_facts::is_scalar(graph_, e, pool_, p.scalar);
    case PatternKind::kOperator:
      return graph_[e].kind == IndexedKind::kOperator && graph_[e].op->name == p.name;
    case PatternKind::kGlobal: {
      const auto* global = as<GlobalRef>(graph_, e);
      return global != nullptr && global->name == p.name;
    }
    case PatternKind::kExpr:
      return expr_facts::is_equal(graph_, e, pool_, *p.expr);
    default:
      return true;
  }
}

bool Matcher::matches_call(std::uint32_t p, std::uint32_t e) {
  const PatternNode& pattern = *pattern_[p].pattern;
  const std::span<const std::uint32_t> exprs = graph_[e].inputs;
  const std::size_t mark = trail_.size();
  if (!visit(pattern_[p].children[0], exprs[0])) return matches_regrouped(p, e);
  const std::vector<std::uint32_t> parts = pattern_[p].children;
  const std::span<const std::uint32_t> args = std::span(parts).subspan(1);
  if (pattern.any) return true;
  if (args.size() != exprs.size() - 1)
    return fail_at(pattern, e, "the number of arguments differs");
  if (matches_in_order(args, exprs.subspan(1))) return true;
  const PatternNode& callee = *pattern_[parts[0]].pattern;
  const bool commutes =
      callee.kind == PatternKind::kOperator && (callee.name == "add" || callee.name == "multiply");
  if (commutes && matches_reversed(args, exprs.subspan(1))) return true;
  rollback(mark);
  return false;
}

bool Matcher::is_operator_call(std::uint32_t p, std::string_view op) const {
  const auto& [pattern, children] = pattern_[p];
  if (pattern->kind != PatternKind::kCall || children.size() != 3) return false;
  const PatternNode& callee = *pattern_[children[0]].pattern;
  return callee.kind == PatternKind::kOperator && callee.name == op;
}

// Matches a call of the other operator: (a * b) / c is b * (a / c) or a * (b / c), too, and
// (a / b) * c is (a * c) / b.
bool Matcher::matches_regrouped(std::uint32_t p, std::uint32_t e) {
  const auto has_argument = [&](std::string_view op) {
    const auto& inputs = graph_[e].inputs;
    return std::any_of(inputs.begin() + 1, inputs.end(), [&](std::uint32_t input) {
      return expr_facts::is_call_of(graph_, input, op);
    });
  };
  const auto is = [&](std::string_view op) { return expr_facts::is_call_of(graph_, e, op); };
  const bool from_ratio = is("multiply") && is_operator_call(p, "divide");
  if (!from_ratio && !(is("divide") && is_operator_call(p, "multiply"))) return false;
  const std::vector<std::uint32_t> parts = pattern_[p].children;
  if (from_ratio && is_operator_call(parts[1], "multiply") && has_argument("divide")) {
    const std::vector<std::uint32_t> product = pattern_[parts[1]].children;
    return matches_made_up(product[0], {product[2]}, parts[0], {product[1], parts[2]}, 1, e) ||
           matches_made_up(product[0], {product[1]}, parts[0], {product[2], parts[2]}, 1, e);
  }
  if (!from_ratio && has_argument("multiply")) {
    for (const std::size_t at : {1, 2}) {
      if (!is_operator_call(parts[at], "divide")) continue;
      const std::vector<std::uint32_t> ratio = pattern_[parts[at]].children;
      return matches_made_up(ratio[0], {ratio[2]}, parts[0], {ratio[1], parts[3 - at]}, 0, e);
    }
  }
  return false;
}

// A call of `outer` whose arguments are `outer_args` with the call of `inner` put in at `inner_at`.
bool Matcher::matches_made_up(std::uint32_t outer, std::vector<std::uint32_t> outer_args,
                              std::uint32_t inner, std::vector<std::uint32_t> inner_args,
                              std::size_t inner_at, std::uint32_t e) {
  static const PatternNode kCall = [] {
    PatternNode n;
    n.kind = PatternKind::kCall;
    return n;
  }();
  const std::size_t mark = trail_.size();
  inner_args.insert(inner_args.begin(), inner);
  const std::uint32_t inside = pattern_.add(&kCall, std::move(inner_args));
  outer_args.insert(outer_args.begin() + static_cast<std::ptrdiff_t>(inner_at), inside);
  outer_args.insert(outer_args.begin(), outer);
  const std::uint32_t whole = pattern_.add(&kCall, std::move(outer_args));
  memo_.resize(pattern_.size());
  if (visit(whole, e)) return true;
  rollback(mark);
  return false;
}

bool Matcher::matches_in_order(std::span<const std::uint32_t> patterns,
                               std::span<const std::uint32_t> exprs) {
  const std::vector<std::uint32_t> held(patterns.begin(), patterns.end());
  const std::size_t mark = trail_.size();
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (visit(held[i], exprs[i])) continue;
    rollback(mark);
    return false;
  }
  return true;
}

bool Matcher::matches_reversed(std::span<const std::uint32_t> patterns,
                               std::span<const std::uint32_t> exprs) {
  const std::vector<std::uint32_t> reversed(patterns.rbegin(), patterns.rend());
  return matches_in_order(reversed, exprs);
}

bool Matcher::matches_function(std::uint32_t p, std::uint32_t e) {
  const PatternNode& pattern = *pattern_[p].pattern;
  const auto* literal = as<Literal>(graph_, e);
  const bool whole = graph_[e].kind == IndexedKind::kFunction;
  if (literal == nullptr && !whole) return fail_at(pattern, e);
  const std::vector<std::uint32_t> parts = pattern_[p].children;
  const auto& params = f_.region(whole ? Function::kBody : literal->body).params;
  if (!pattern.any) {
    if (parts.size() - 1 != params.size())
      return fail_at(pattern, e, "the number of parameters differs");
    std::vector<std::uint32_t> exprs;
    for (const NodeId param : params) exprs.push_back(graph_.index_of(param));
    if (!matches_in_order(std::span(parts).first(params.size()), exprs)) return false;
  }
  return visit(parts.back(), graph_[e].inputs[0]);
}

bool Matcher::matches_let(std::uint32_t p, std::uint32_t e) {
  if (graph_[e].kind != IndexedKind::kLet) return fail_at(*pattern_[p].pattern, e);
  const NodeId variable = graph_[e].node;
  const std::uint32_t exprs[] = {graph_.index_of(variable),
                                 graph_.index_of(f_.operands(variable)[0]), graph_[e].inputs[0]};
  return matches_in_order(pattern_[p].children, exprs);
}

bool Matcher::matches_tuple(std::uint32_t p, std::uint32_t e) {
  const auto& [pattern, children] = pattern_[p];
  if (as<Tuple>(graph_, e) == nullptr) return fail_at(*pattern, e);
  if (pattern->any) return true;
  if (children.size() != graph_[e].inputs.size()) {
    return fail_at(*pattern, e, "the number of fields differs");
  }
  return matches_in_order(children, graph_[e].inputs);
}

bool Matcher::matches_constraint(std::uint32_t p, std::uint32_t e) {
  const PatternNode& pattern = *pattern_[p].pattern;
  if (!visit(pattern_[p].children[0], e)) return false;
  if (pattern.kind == PatternKind::kAttr) {
    return expr_facts::has_attrs(graph_, e, pattern.attrs) ||
           fail_at(pattern, e, "the attributes differ");
  }
  const Type type = expr_facts::type(graph_, e, pool_);
  if (pattern.kind == PatternKind::kType) {
    return type == pattern.type || fail_at(pattern, e, "the type differs");
  }
  if (!type || !type.is_tensor()) return fail_at(pattern, e, "it is not a tensor of a known type");
  if (pattern.kind == PatternKind::kDtype) {
    return type.dtype() == pattern.dtype || fail_at(pattern, e, "the data type differs");
  }
  return type.shape() == pattern.shape || fail_at(pattern, e, "the shape differs");
}

bool Matcher::matches_dominator(std::uint32_t p, std::uint32_t e) {
  const std::vector<std::uint32_t> parts = pattern_[p].children;
  const std::uint32_t parent = parts[0], path = parts[1], child = parts[2];
  if (!visit(child, e)) return false;
  const bool on_path = matches_path(parent, path, e);
  memoize_ = true;
  if (!on_path) return false;
  const bool dominates = !memo_[parent].empty() && graph_.dominates(e, memo_[parent][0]);
  return dominates || fail_at(*pattern_[p].pattern, e, "not all uses of the parent lead here");
}

// Every input on the way back matches the parent, where the way ends, or the path. In a call the
// callee does not count.
bool Matcher::matches_path(std::uint32_t parent, std::uint32_t path, std::uint32_t e) {
  struct Step {
    std::uint32_t expr;
    std::size_t next;
  };
  const auto enter = [&](std::uint32_t expr) {
    return Step{expr, expr_facts::is_call(graph_, expr) ? 1u : 0u};
  };
  std::vector<Step> way{enter(e)};
  std::unordered_set<std::uint32_t> seen;  // never iterated
  while (!way.empty()) {
    const auto& inputs = graph_[way.back().expr].inputs;
    if (way.back().next == inputs.size()) {
      way.pop_back();
      continue;
    }
    const std::uint32_t input = inputs[way.back().next++];
    if (!seen.insert(input).second) continue;
    memoize_ = true;
    if (visit(parent, input)) continue;
    memoize_ = false;
    if (!visit(path, input)) return false;
    way.push_back(enter(input));
  }
  return true;
}

}  // namespace tessera::relay
