// SPDX-License-Identifier: Apache-2.0
// Matches one pattern at many roots of one function (relay-spec 2.4). An expression is its index in
// the post-DFS view of the function, so operators, `let` expressions and functions can be matched
// too.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relay/patterns/indexed_graph.h"
#include "relay/patterns/pattern_graph.h"

namespace tessera::relay {

class Matcher {
 public:
  // Without the module's pool, the values of pooled constants are not seen.
  Matcher(const IndexedGraph& graph, const Pattern& pattern, const ConstantPool* pool);

  // The matches of an earlier call are forgotten.
  bool match(std::uint32_t root);

  // After a match.
  const PatternGraph& pattern() const { return pattern_; }
  const IndexedGraph& graph() const { return graph_; }
  const ConstantPool* pool() const { return pool_; }
  // What a node of the pattern matched: nothing for a part of an alternative that was not taken,
  // several for the path of a dominator.
  std::span<const std::uint32_t> matched(std::uint32_t pattern) const { return memo_[pattern]; }
  // The node that was matched under a name; an invalid id if that part was not taken.
  NodeId captured(std::string_view name) const;

  // After a failed match: where it came furthest, in a sentence.
  std::string why_not() const;
  // Can the pattern match this root at all, as far as its outermost part tells?
  bool is_candidate(std::uint32_t root) const;

 private:
  struct Failure {
    const PatternNode* pattern = nullptr;
    std::uint32_t expr = 0;
    std::size_t progress = 0;
    const char* what = "";  // of the pattern that did not hold; "": another kind of expression
  };

  bool may_be(std::uint32_t p, std::uint32_t e) const;
  bool visit(std::uint32_t p, std::uint32_t e);
  bool matches(std::uint32_t p, std::uint32_t e);
  bool matches_leaf(const PatternNode& p, std::uint32_t e) const;
  bool matches_call(std::uint32_t p, std::uint32_t e);
  bool matches_regrouped(std::uint32_t p, std::uint32_t e);
  bool matches_made_up(std::uint32_t outer, std::vector<std::uint32_t> outer_args,
                       std::uint32_t inner, std::vector<std::uint32_t> inner_args,
                       std::size_t inner_at, std::uint32_t e);
  bool matches_in_order(std::span<const std::uint32_t> patterns,
                        std::span<const std::uint32_t> exprs);
  bool matches_reversed(std::span<const std::uint32_t> patterns,
                        std::span<const std::uint32_t> exprs);
  bool matches_function(std::uint32_t p, std::uint32_t e);
  bool matches_let(std::uint32_t p, std::uint32_t e);
  bool matches_tuple(std::uint32_t p, std::uint32_t e);
  bool matches_constraint(std::uint32_t p, std::uint32_t e);
  bool matches_dominator(std::uint32_t p, std::uint32_t e);
  bool matches_path(std::uint32_t parent, std::uint32_t path, std::uint32_t e);
  bool fail_at(const PatternNode& p, std::uint32_t e, const char* what = "");

  bool is_operator_call(std::uint32_t p, std::string_view op) const;
  void rollback(std::size_t mark);

  const IndexedGraph& graph_;
  const Function& f_;
  const ConstantPool* pool_;
  PatternGraph pattern_;
  std::size_t pattern_size_;
  std::vector<std::vector<std::uint32_t>> memo_;  // by pattern node
  std::vector<std::uint32_t> trail_;              // pattern nodes as they matched
  bool memoize_ = true;
  Failure failure_;
};

// As match() of relay/pattern.h, of a function that is indexed once for many roots and patterns.
std::optional<Match> match(const IndexedGraph& graph, const Pattern& pattern, NodeId root,
                           const ConstantPool* pool);

// Questions about an expression by its index (relay/expr_facts.cc).
namespace expr_facts {

template <class T>
const T* as(const IndexedGraph& g, std::uint32_t e) {
  return g[e].kind == IndexedKind::kNode ? g.function().as<T>(g[e].node) : nullptr;
}
bool is_call(const IndexedGraph& g, std::uint32_t e);
bool is_call_of(const IndexedGraph& g, std::uint32_t e, std::string_view op);
// A parameter or the variable of a `let`.
bool is_variable(const IndexedGraph& g, std::uint32_t e, std::string_view name);
bool has_attrs(const IndexedGraph& g, std::uint32_t e, const Attrs& wanted);
// Null for what is no constant, or one of a pool that is not at hand.
const Tensor* tensor(const IndexedGraph& g, std::uint32_t e, const ConstantPool* pool);
bool is_scalar(const IndexedGraph& g, std::uint32_t e, const ConstantPool* pool, double value);
bool is_equal(const IndexedGraph& g, std::uint32_t e, const ConstantPool* pool,
              const Function& expr);
Type type(const IndexedGraph& g, std::uint32_t e, const ConstantPool* pool);
// Describes a node as relay/describe.h says it.
std::string describe(const IndexedGraph& g, std::uint32_t e);

}  // namespace expr_facts

}  // namespace tessera::relay
