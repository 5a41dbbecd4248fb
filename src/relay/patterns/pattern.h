// SPDX-License-Identifier: Apache-2.0
// Dataflow patterns (relay-spec 2.3; docs/patterns.md). Matching: relay/matcher.h; text:
// relay/pattern_text.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/function.h"
#include "relay/operator.h"

namespace tessera {
class ConstantPool;
}

namespace tessera::relay {

struct PatternNode;

// A shared immutable pattern. Using one Pattern object twice demands the same value at both places.
class Pattern {
 public:
  Pattern() = default;
  explicit Pattern(std::shared_ptr<const PatternNode> node) : node_(std::move(node)) {}
  const PatternNode* get() const { return node_.get(); }
  explicit operator bool() const { return node_ != nullptr; }

  // A call with this as its callee; of an operator that may be an alternative of operators.
  Pattern call(std::vector<Pattern> args, std::string capture = {}) const;
  Pattern call_any(std::string capture = {}) const;  // of any arguments

  Pattern operator|(const Pattern& other) const;                     // left first
  Pattern optional(const std::function<Pattern(Pattern)>& f) const;  // f(p) | p
  Pattern has_attr(std::string name, AttrValue value) const;
  Pattern has_attrs(Attrs attrs) const;
  Pattern has_type(Type type) const;
  Pattern has_dtype(DType dtype) const;
  Pattern has_shape(Shape shape) const;

 private:
  std::shared_ptr<const PatternNode> node_;
};

Pattern wildcard(std::string capture = {});  // `capture`: a name to find the value by in a Match
Pattern is_constant(std::string capture = {});
Pattern is_scalar(double value);  // a rank-0 (or one-element) constant of that value
Pattern is_var(std::string name = {});
Pattern is_operator(std::string name);
Pattern is_global(std::string name);
// What is structurally equal to the result of `expr`: calls, constants, tuples, projections and
// globals, without parameters.
Pattern is_expr(Function expr);
// A call of the operator; the arguments in order, `add` and `multiply` also reversed.
Pattern is_op(std::string name, std::vector<Pattern> args, std::string capture = {});
Pattern is_op_any_args(std::string name, std::string capture = {});
// A function literal; without `params`, of any.
Pattern is_function(std::optional<std::vector<Pattern>> params, Pattern body);
Pattern is_if(Pattern condition, Pattern then_value, Pattern else_value);
Pattern is_let(Pattern variable, Pattern value, Pattern body);
Pattern is_tuple(std::vector<Pattern> fields);
Pattern is_any_tuple();
Pattern is_project(Pattern tuple, int index = -1);
// `child`, where every way back from it leads over values that match `path` to one value that
// matches `parent`, which nothing else reads.
Pattern dominates(Pattern parent, Pattern path, Pattern child);

// The same pattern, captures included, built of shared parts in the same way?
bool structural_equal(const Pattern& a, const Pattern& b);

// What a pattern matched. `inputs` are values outside the match that it reads, in the order of the
// pattern, once each; constants matched by is_constant() and the like are inside.
struct Match {
  const Function* function = nullptr;
  const ConstantPool* pool = nullptr;  // as given to match()
  NodeId root;
  std::vector<NodeId> inside;  // calls, tuples, projections, embedded constants; ascending
  std::vector<NodeId> inputs;
  std::map<std::string, NodeId> captures;

  // The captured node, or an invalid id where the pattern's optional part did not match.
  NodeId find(std::string_view capture) const;
};

// Matches `pattern` with its root at `root`, which must be live. Without the module's pool,
// is_scalar() and the types of constants see immediate constants only. Looks at all of the function
// each time: for many roots or patterns of one there is relay/matcher.h.
std::optional<Match> match(const Function& f, const Pattern& pattern, NodeId root,
                           const ConstantPool* pool = nullptr);

}  // namespace tessera::relay
