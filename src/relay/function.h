// SPDX-License-Identifier: Apache-2.0
// The graph IR: a function is a flat vector of nodes in topological order (docs/graph-ir.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "constants/tensor.h"
#include "diagnostics/location.h"
#include "relay/attributes.h"
#include "support/check.h"
#include "support/id.h"
#include "types/type.h"

namespace tessera::relay {

struct Operator;
struct NodeTag;
struct RegionTag;
using NodeId = Id<NodeTag>;
using RegionId = Id<RegionTag>;

// ---- Kinds of nodes. `operands` of a node are earlier nodes of its own or an enclosing region.
// ----

// A parameter of the region's function; listed in Region::params.
struct Param {
  std::string name;  // hint; printers make it unique
  Type annotation;   // may be unknown
};
// operands: none.
struct Constant {
  ConstantValue value;
};
// operands: the arguments.
struct OpCall {
  const Operator* op = nullptr;
  Attrs attrs;
};
// operands: callee, arguments. The callee is a Literal, a GlobalRef or any value of function type.
struct ValueCall {
  Attrs attrs;
};
// operands: the fields.
struct Tuple {};
// operands: the tuple.
struct Project {
  int index = 0;
};
// operands: the condition (a scalar bool). Branches are regions without parameters.
struct If {
  RegionId then_region, else_region;
};
// A function literal; no operands. `body` has the parameters.
struct Literal {
  RegionId body;
  Attrs attrs;
  Type result_annotation;
};
// A name for a value. operands: the value. Printed as `let`.
struct Let {
  std::string name;
  Type annotation;
};
// A reference to a function of the module.
struct GlobalRef {
  std::string name;  // without `@`
};

enum class NodeKind : std::uint8_t {
  kParam,
  kConstant,
  kOpCall,
  kValueCall,
  kTuple,
  kProject,
  kIf,
  kLiteral,
  kLet,
  kGlobalRef
};
using NodeData =
    std::variant<Param, Constant, OpCall, ValueCall, Tuple, Project, If, Literal, Let, GlobalRef>;

struct Node {
  NodeData data;
  RegionId region;
  std::uint32_t first_operand = 0, num_operands = 0;  // into the function's operand vector
  Type type;                                          // set by type inference
  Location location;
  NodeKind kind() const { return static_cast<NodeKind>(data.index()); }
};

// A function body, a literal's body, or a branch of an `if`.
struct Region {
  NodeId owner;                // the Literal or If node; invalid for the function's own body
  RegionId parent;             // invalid for the function's own body
  std::vector<NodeId> params;  // Param nodes
  NodeId result;
};

// Invariants (relay/verify.h): operands come before users; a node uses only its own and enclosing
// regions; nodes of a region come before the region's owner; every region has a result.
class Function {
 public:
  static constexpr RegionId kBody{0u};

  std::size_t num_nodes() const { return nodes_.size(); }
  std::size_t num_regions() const { return regions_.size(); }
  const Node& operator[](NodeId id) const { return nodes_[id.index()]; }
  std::span<const NodeId> operands(NodeId id) const {
    const Node& n = nodes_[id.index()];
    return {operands_.data() + n.first_operand, n.num_operands};
  }
  const Region& region(RegionId id) const { return regions_[id.index()]; }
  const Region& body() const { return regions_[0]; }
  std::span<const NodeId> params() const { return regions_[0].params; }
  NodeId result() const { return regions_[0].result; }
  const Type& type(NodeId id) const { return nodes_[id.index()].type; }

  // The node's data as T, or null: `if (const OpCall* c = f.as<OpCall>(id))`.
  template <class T>
  const T* as(NodeId id) const {
    return std::get_if<T>(&nodes_[id.index()].data);
  }
  // The operator of an OpCall, else null.
  const Operator* op(NodeId id) const {
    const OpCall* c = as<OpCall>(id);
    return c != nullptr ? c->op : nullptr;
  }

  // Attributes of the function itself (`Compiler`, `Primitive`, `global_symbol`, ...).
  Attrs attrs;
  Type result_annotation;
  Location location;

  // Type inference alone fills these in (ops/infer_types.h): it adds knowledge, it changes no
  // meaning.
  void set_type(NodeId id, Type type) { nodes_[id.index()].type = std::move(type); }
  void set_annotation(NodeId id, Type type);  // of a parameter or `let`, of a literal's result

 private:
  friend class FunctionBuilder;
  std::vector<Node> nodes_;
  std::vector<NodeId> operands_;
  std::vector<Region> regions_;
};

// Is it a call of the operator of this name?
bool is_call_of(const Function& f, NodeId id, std::string_view op);
// Optimizable: none of `Compiler`, non-zero `Extern`, non-zero `SkipOptimization` (relay-spec 0.3).
bool is_optimizable(const Function& f);
Type type_of_signature(const Function& f);  // function_type from annotations / inferred types

// Builds a function front to back. Regions nest: begin_region ... end_region around the nodes of a
// literal body or a branch, then literal() / if_() makes the owner.
class FunctionBuilder {
 public:
  FunctionBuilder();

  // All nodes made from here on carry this location until it is changed.
  void at(Location location) { location_ = std::move(location); }

  NodeId param(std::string name, Type annotation);  // of the current region
  NodeId constant(ConstantValue value);
  NodeId constant(Tensor tensor) { return constant(ConstantValue(std::move(tensor))); }
  NodeId call(const Operator& op, std::span<const NodeId> args,
              Attrs attrs = {});  // attrs normalised here
  NodeId call(const Operator& op, std::initializer_list<NodeId> args, Attrs attrs = {}) {
    return call(op, std::span(args.begin(), args.size()), std::move(attrs));
  }
  NodeId call_value(NodeId callee, std::span<const NodeId> args, Attrs attrs = {});
  NodeId tuple(std::span<const NodeId> fields);
  NodeId project(NodeId tuple, int index);
  NodeId let(std::string name, NodeId value, Type annotation = {});
  NodeId global(std::string name);

  RegionId begin_region();         // nested in the current one
  void end_region(NodeId result);  // closes the current nested region
  // Further nodes belong to a region of the current one that has ended, until end_region gives it
  // another result. Nothing owns it yet.
  void reopen_region(RegionId region);
  NodeId literal(RegionId body, Attrs attrs, Type result_annotation = {});
  NodeId if_(NodeId condition, RegionId then_region, RegionId else_region);

  // A copy of a node of another function with other operands (same payload, type and location).
  // Not for Param, Literal and If: see relay/rewrite.h.
  NodeId copy(const Function& from, NodeId id, std::span<const NodeId> operands);
  void set_type(NodeId id, Type type) { f_.set_type(id, std::move(type)); }
  const Function& peek() const { return f_; }

  Function finish(NodeId result, Attrs attrs = {}, Type result_annotation = {});

 private:
  NodeId add(NodeData data, std::span<const NodeId> operands);
  Function f_;
  std::vector<RegionId> open_;
  Location location_;
};

}  // namespace tessera::relay
