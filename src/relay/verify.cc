// SPDX-License-Identifier: Apache-2.0
#include "relay/verify.h"

#include "relay/function_attributes.h"
#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::relay {

namespace {

class Verifier {
 public:
  explicit Verifier(const Function& f) : f_(f) {}

  Diagnostics run() {
    for (std::size_t i = 0; i < f_.num_regions(); ++i) check_region(RegionId(i));
    if (!errors_.empty()) return std::move(errors_);
    check_attributes({}, f_.attrs);
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) check_node(NodeId(i));
    if (errors_.empty()) check_captures();
    return std::move(errors_);
  }

 private:
  template <class... A>
  void report(Code code, NodeId at, fmt::format_string<A...> text, A&&... args) {
    errors_.add(error(code, at ? f_[at].location : f_.location, text, std::forward<A>(args)...));
  }

  bool exists(NodeId id) const { return id && id.index() < f_.num_nodes(); }

  void check_region(RegionId id) {
    const Region& region = f_.region(id);
    const bool body = id == Function::kBody;
    if (!exists(region.result)) {
      return report(Code::kMalformedGraph, region.owner, "a region has no result");
    }
    if (body != !region.parent || (region.parent && region.parent.index() >= id.index())) {
      return report(Code::kMalformedGraph, region.result, "the regions are not a tree");
    }
    for (NodeId param : region.params) {
      if (exists(param) && f_.as<Param>(param) != nullptr && f_[param].region == id) continue;
      report(Code::kMalformedGraph, region.owner, "a parameter of a region is none of its nodes");
    }
    const NodeId owner = region.owner;
    if (!body && owner && (!exists(owner) || f_[owner].region != region.parent)) {
      report(Code::kMalformedGraph, region.result, "a region is owned from elsewhere");
    }
  }

  void check_node(NodeId id) {
    for (NodeId operand : f_.operands(id)) {
      if (!exists(operand) || operand.index() >= id.index()) {
        report(Code::kMalformedGraph, id, "a node uses a value that is defined after it");
      } else if (!is_within(f_, f_[id].region, f_[operand].region)) {
        report(Code::kMalformedGraph, id,
               "a node uses a value from inside another branch or function literal");
      }
    }
    for (RegionId region : regions_of(f_, id)) check_owned(id, region);
    if (const OpCall* call = f_.as<OpCall>(id)) check_call(id, *call);
    if (const Literal* literal = f_.as<Literal>(id)) check_attributes(id, literal->attrs);
    const std::size_t operands = f_[id].num_operands;
    const bool needs_one =
        f_.as<Project>(id) != nullptr || f_.as<If>(id) != nullptr || f_.as<Let>(id) != nullptr;
    if ((needs_one && operands != 1) || (f_.as<ValueCall>(id) != nullptr && operands == 0)) {
      report(Code::kMalformedGraph, id, "a node has {} operands", operands);
    }
  }

  void check_owned(NodeId id, RegionId region) {
    const NodeId result = f_.region(region).result;
    if (f_.region(region).owner != id) {
      report(Code::kMalformedGraph, id, "a region has two owners");
    } else if (result.index() >= id.index() || !is_within(f_, region, f_[result].region)) {
      report(Code::kMalformedGraph, id,
             "a branch or function literal returns a value that it does not see");
    }
  }

  void check_call(NodeId id, const OpCall& call) {
    const Operator& op = *call.op;
    const std::size_t given = f_[id].num_operands, most = op.operands.size();
    const std::size_t least = most - static_cast<std::size_t>(op.optional_operands);
    if (given < least || (given > most && !op.variadic)) {
      report(Code::kWrongArity, id, "`{}` has {} operands", op.name, given);
    }
    Attrs attrs = call.attrs;
    if (const auto finding = op.attrs().normalize(attrs)) {
      report(Code::kWrongAttribute, id, "`{}`: {}", op.name, *finding);
    } else if (!(attrs == call.attrs)) {
      report(Code::kWrongAttribute, id, "`{}`: the attributes are not normalised", op.name);
    }
  }

  // Checks those of the literal, or of the function itself.
  void check_attributes(NodeId at, const Attrs& attrs) {
    const auto finding = wrong_function_attribute(attrs);
    if (!finding) return;
    report(Code::kWrongAttribute, at, "{}", *finding);
    errors_.list.back().remedy = "correct its value, or omit the attribute";
  }

  // Through nested literals too: what an inner one reads from outside, the outer one captures.
  void check_captures() {
    const auto captured = captures(f_);
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const Literal* literal = f_.as<Literal>(NodeId(i));
      if (literal == nullptr || captured[i].empty() || !is_closed(literal->attrs)) continue;
      const bool primitive = is_primitive(literal->attrs);
      const bool compiled = literal->attrs.find("Compiler") != nullptr;
      report(Code::kMalformedGraph, NodeId(i),
             "a function literal with `{}` uses a value from outside; such literals take "
             "all that they read as parameters",
             primitive  ? "Primitive"
             : compiled ? "Compiler"
                        : "Composite");
    }
  }

  const Function& f_;
  Diagnostics errors_;
};

}  // namespace

Diagnostics verify(const Function& f) { return Verifier(f).run(); }

}  // namespace tessera::relay
