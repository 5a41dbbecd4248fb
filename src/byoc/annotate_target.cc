// SPDX-License-Identifier: Apache-2.0
// The pass `annotate-target` (relay-spec 2.7): each call goes to the first target that supports it,
// and marks stand where values pass from one to another.
#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "byoc/annotations.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::byoc {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;
using relay::NodeKind;

constexpr relay::AttrRule kNames{
    "a list of names that are not empty", [](const relay::AttrValue& v) {
      const auto names = relay::AttrCodec<std::vector<std::string>>::decode(v);
      return std::none_of(names.begin(), names.end(), [](const auto& n) { return n.empty(); });
    }};

struct AnnotateOptions {
  std::vector<std::string> targets;
  bool include_non_call_ops = true;
  std::vector<std::string> supported;
  static constexpr auto fields =
      std::tuple{relay::required_attr("targets", &AnnotateOptions::targets, kNames),
                 relay::attr("include_non_call_ops", &AnnotateOptions::include_non_call_ops),
                 relay::attr("supported", &AnnotateOptions::supported)};
};

// What the options say, and what the whole module knows.
struct Rules {
  std::vector<std::string> targets;
  bool include_non_call_ops = true;
  std::set<std::pair<std::string, const relay::Operator*>> supported;
  // Functions that a `let` names: recursive literals, which the text format cannot hold otherwise.
  std::set<std::string> let_bound;
};

class Annotator {
 public:
  Annotator(const std::string& name, const Function& f, const Rules& rules)
      : name_(name),
        f_(f),
        rules_(rules),
        target_(f.num_nodes()),
        in_composite_(composite_regions(f)) {
    find_earlier();
  }

  // Is some call for a target? Is some that could have been for none?
  bool has_given() const { return has_given_; }
  bool has_left() const { return has_left_; }

  Function run() {
    return relay::rewrite(
        f_, [&](Copier& c, NodeId id) { return visit(c, id); }, {},
        [&](Copier& c, relay::RegionId region) {
          const NodeId result = f_.region(region).result;
          return in_composite_[region.index()] ? c.map(result) : closed(c, result).node;
        });
  }

 private:
  // A value as an argument: closed where it has a target, or a mark of an earlier run.
  struct Argument {
    NodeId node;
    std::string target;  // of the value; "default" if it has none
    bool is_kept_begin = false;
  };

  static std::vector<bool> composite_regions(const Function& f) {
    std::vector<bool> inside(f.num_regions(), false);
    for (std::size_t i = 1; i < f.num_regions(); ++i) {
      const relay::Region& region = f.region(relay::RegionId(i));
      const auto* literal = region.owner ? f.as<relay::Literal>(region.owner) : nullptr;
      inside[i] = inside[region.parent.index()] ||
                  (literal != nullptr && literal->attrs.find("Composite") != nullptr);
    }
    return inside;
  }

  bool is_kept_begin(NodeId id) const {
    return is_begin(f_, id) && compiler_of(f_, id) != kDefaultTarget;
  }

  // Calls, tuples and projections after a mark of an earlier run keep its target.
  void find_earlier() {
    earlier_.resize(f_.num_nodes(), false);
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const NodeId id(i);
      if (is_annotation(f_, id) || !can_have_target(id)) continue;
      for (const NodeId argument : arguments(id)) {
        const bool begins = is_kept_begin(argument);
        if (!begins && !earlier_[argument.index()]) continue;
        earlier_[i] = true;
        target_[i] = begins ? compiler_of(f_, argument) : target_[argument.index()];
        break;
      }
    }
  }

  bool can_have_target(NodeId id) const {
    const NodeKind kind = f_[id].kind();
    return kind == NodeKind::kOpCall || kind == NodeKind::kValueCall || kind == NodeKind::kTuple ||
           kind == NodeKind::kProject;
  }

  std::span<const NodeId> arguments(NodeId id) const {
    const auto operands = f_.operands(id);
    return f_.as<relay::ValueCall>(id) != nullptr ? operands.subspan(1) : operands;
  }

  std::optional<NodeId> visit(Copier& c, NodeId id) {
    if (in_composite_[f_[id].region.index()]) return std::nullopt;
    if (is_annotation(f_, id)) return visit_annotation(c, id);
    switch (f_[id].kind()) {
      case NodeKind::kOpCall:
      case NodeKind::kValueCall:
        return visit_call(c, id);
      case NodeKind::kTuple:
      case NodeKind::kProject:
        return visit_other(c, id);
      case NodeKind::kLet:
        return visit_let(c, id);
      case NodeKind::kIf:
        return c.copy(id, std::vector{closed(c, f_.operands(id)[0]).node});
      default:
        return std::nullopt;
    }
  }

  // Marks of an earlier run: ends follow the value's target, default begins go.
  NodeId visit_annotation(Copier& c, NodeId id) {
    const NodeId value = f_.operands(id)[0];
    if (is_kept_begin(id)) return c.copy(id, std::vector{closed(c, value).node});
    if (is_begin(f_, id)) return c.map(value);
    std::string& target = target_[value.index()];
    if (target.empty() && can_have_target(value)) target = compiler_of(f_, id);
    const std::string compiler = target.empty() ? compiler_of(f_, id) : target;
    return make_end(c.builder(), c.map(value), compiler);
  }

  NodeId visit_call(Copier& c, NodeId id) {
    if (!rules_.include_non_call_ops && calls_variable(id)) return copy_closed(c, id);
    std::string& target = target_[id.index()];
    if (target.empty()) target = first_supporting(id);
    const bool is_given = target != kDefaultTarget;
    has_given_ = has_given_ || is_given;
    const bool computes =
        f_.op(id) != nullptr || f_.as<relay::Literal>(f_.operands(id)[0]) != nullptr;
    has_left_ = has_left_ || (computes && !is_given);
    return copy_begun(c, id, target);
  }

  NodeId visit_other(Copier& c, NodeId id) {
    std::string& target = target_[id.index()];
    if (!earlier_[id.index()] && !rules_.include_non_call_ops) return copy_closed(c, id);
    if (!earlier_[id.index()]) target = common_target(arguments(id));
    return copy_begun(c, id, target);
  }

  NodeId visit_let(Copier& c, NodeId id) {
    const NodeId value = f_.operands(id)[0];
    const bool is_function =
        f_.as<relay::Literal>(value) != nullptr || f_.as<relay::GlobalRef>(value) != nullptr;
    if (is_function) return c.copy(id);
    Argument argument = closed(c, value);
    if (rules_.include_non_call_ops && !argument.is_kept_begin) {
      argument.node = make_begin(c.builder(), argument.node, argument.target);
    }
    return c.copy(id, std::vector{argument.node});
  }

  NodeId copy_closed(Copier& c, NodeId id) {
    std::vector<NodeId> operands;
    for (const NodeId operand : f_.operands(id)) operands.push_back(closed(c, operand).node);
    return c.copy(id, operands);
  }

  NodeId copy_begun(Copier& c, NodeId id, const std::string& target) {
    std::vector<NodeId> operands;
    if (f_.as<relay::ValueCall>(id) != nullptr) operands.push_back(c.map(f_.operands(id)[0]));
    for (const NodeId operand : arguments(id)) {
      const bool same_region =
          earlier_[id.index()] && earlier_[operand.index()] && target_[operand.index()] == target;
      if (same_region) {
        operands.push_back(c.map(operand));
        continue;
      }
      const Argument argument = closed(c, operand);
      operands.push_back(argument.is_kept_begin ? argument.node
                                                : make_begin(c.builder(), argument.node, target));
    }
    return c.copy(id, operands);
  }

  Argument closed(Copier& c, NodeId value) const {
    while (is_begin(f_, value) && !is_kept_begin(value)) value = f_.operands(value)[0];
    const NodeId fresh = c.map(value);
    if (is_begin(f_, value)) return {fresh, target_after(value), true};
    if (is_end(f_, value)) return {fresh, compiler_of(c.builder().peek(), fresh)};
    const std::string& target = target_[value.index()];
    if (target.empty()) return {fresh, std::string(kDefaultTarget)};
    if (arguments(value).empty()) return {fresh, target};  // nothing ever began
    return {make_end(c.builder(), fresh, target), target};
  }

  // The target of the value that a kept begin takes in.
  std::string target_after(NodeId begin) const {
    const NodeId value = f_.operands(begin)[0];
    return is_end(f_, value) ? compiler_of(f_, value) : compiler_of(f_, begin);
  }

  std::string common_target(std::span<const NodeId> values) const {
    std::string common;
    for (NodeId value : values) {
      while (is_annotation(f_, value)) value = f_.operands(value)[0];
      std::string target = target_[value.index()];
      if (target.empty()) target = kDefaultTarget;
      if (!common.empty() && common != target) return std::string(kDefaultTarget);
      common = std::move(target);
    }
    return common;
  }

  bool calls_variable(NodeId id) const {
    if (f_.as<relay::ValueCall>(id) == nullptr) return false;
    const NodeId callee = f_.operands(id)[0];
    if (const auto* global = f_.as<relay::GlobalRef>(callee)) {
      return global->name == name_ && rules_.let_bound.contains(name_);
    }
    return f_.as<relay::Param>(callee) != nullptr || f_.as<relay::Let>(callee) != nullptr;
  }

  std::string first_supporting(NodeId call) const {
    const relay::Operator* op = f_.op(call);
    std::string composite;
    if (op == nullptr) {
      if (const auto* literal = f_.as<relay::Literal>(f_.operands(call)[0]))
        composite = literal->attrs.string_or_empty("Composite");
    }
    const std::size_t dot = composite.find('.');
    for (const std::string& target : rules_.targets) {
      if (op != nullptr && rules_.supported.contains({target, op})) return target;
      if (dot != composite.npos && composite.substr(0, dot) == target) return target;
    }
    return std::string(kDefaultTarget);
  }

  const std::string& name_;
  const Function& f_;
  const Rules& rules_;
  std::vector<std::string> target_;  // by node; "": none
  std::vector<bool> in_composite_;   // by region
  std::vector<bool> earlier_;        // by node: in a region of an earlier run
  bool has_given_ = false, has_left_ = false;
};

// Most likely names that do not fit: later passes will find nothing to do.
Diagnostic supports_nothing(const std::vector<std::string>& targets) {
  return warning(Code::kBadPassOption, {},
                 "pass `annotate-target`: no call is for {}: calls of composites named `{}.xxx` "
                 "would be, and of the operators in `supported`",
                 fmt::join(targets, ", "), targets.front())
      .with_remedy("name the composites so, or declare operators as in `supported=[" +
                   targets.front() + ":nn.dense]`");
}

Diagnostic bad_support(const std::string& entry, const std::string& finding) {
  return error(Code::kBadPassOption, {}, "pass `annotate-target`, option `supported`: `{}` {}",
               entry, finding)
      .with_remedy("write TARGET:OPERATOR, as in `supported=[cutlass:nn.dense]`");
}

Result<Rules> read_rules(const passes::PassContext& context, std::vector<Diagnostic>& warnings) {
  auto options = relay::read_attrs<AnnotateOptions>(context.options);
  Rules rules{std::move(options.targets), options.include_non_call_ops, {}, {}};
  for (const std::string& entry : options.supported) {
    const std::size_t colon = entry.find(':');
    if (colon == entry.npos || colon == 0) return fail(bad_support(entry, "names no target"));
    const std::string target = entry.substr(0, colon), name = entry.substr(colon + 1);
    const relay::Operator* op = context.operators.find(name);
    if (op == nullptr) return fail(bad_support(entry, "names no operator that exists"));
    if (std::find(rules.targets.begin(), rules.targets.end(), target) == rules.targets.end()) {
      warnings.push_back(warning(Code::kBadPassOption, {},
                                 "pass `annotate-target`: `{}` is not among the targets", target));
    }
    rules.supported.emplace(target, op);
  }
  return rules;
}

std::set<std::string> let_bound_globals(const Module& module) {
  std::set<std::string> names;
  for (const auto& [name, f] : module.functions) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (f.as<relay::Let>(NodeId(i)) == nullptr) continue;
      const auto* global = f.as<relay::GlobalRef>(f.operands(NodeId(i))[0]);
      if (global != nullptr) names.insert(global->name);
    }
  }
  return names;
}

Result<Module> run_annotate_target(Module module, passes::PassContext& context) {
  TESSERA_TRY(Rules rules, read_rules(context, context.warnings));
  rules.let_bound = let_bound_globals(module);
  bool has_given = false, has_left = false;
  for (auto& [name, f] : module.functions) {
    if (!relay::is_optimizable(f)) continue;
    CheckContext in("in @" + name);
    Annotator annotator(name, f, rules);
    f = annotator.run();
    has_given = has_given || annotator.has_given();
    has_left = has_left || annotator.has_left();
  }
  if (has_left && !has_given && !rules.targets.empty()) {
    context.warnings.push_back(supports_nothing(rules.targets));
  }
  return ops::infer_types(std::move(module));
}

}  // namespace

extern const passes::Pass annotate_target;
const passes::Pass annotate_target{
    .name = "annotate-target",
    .summary = "marks where values enter and leave what a target supports",
    .options = relay::attr_schema<AnnotateOptions>,
    .needs_types = false,
    .run = run_annotate_target,
};

}  // namespace tessera::byoc
