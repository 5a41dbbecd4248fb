// SPDX-License-Identifier: Apache-2.0
// Typed nodes, one after the other. What is known already is evaluated at once: the shape
// arithmetic of exporters is gone before it enters the graph.
#pragma once

#include <map>
#include <span>

#include "constants/pool.h"
#include "diagnostics/limits.h"
#include "module/module.h"
#include "relay/function.h"
#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::import {

using relay::Attrs;
using relay::NodeId;

// Thrown by what a converter calls, to leave it early; caught by the importer, which goes on with
// the next node so that all errors are reported. The one place where an exception is control flow:
// every line of every converter would otherwise be a TRY.
inline constexpr std::string_view kCorrectModel =
    "correct the model; onnx.checker finds most such faults";
struct NodeError {
  Diagnostic diagnostic;
  bool is_of_attributes = false;  // wrong whatever the inputs are
};

class CallBuilder {
 public:
  // `ranges` is what the user says of the sizes of symbols.
  explicit CallBuilder(const SymbolTable& ranges) : ranges_(ranges) {}

  // What the graph may take from here on. The functions below throw NodeError beyond.
  void set_limits(const Limits& limits);
  const Limits& limits() const { return limits_; }
  // One node more of the model or of what is made of it.
  void count_node();
  // Before constants of so many elements of eight bytes are made.
  void make_room(double elements);

  // What the user had better know of an import that goes on.
  void warn(Diagnostic d) { warnings_.push_back(std::move(d)); }
  std::vector<Diagnostic> take_warnings() { return std::move(warnings_); }

  // The place of the nodes made from here on.
  void at(const Location& location);

  NodeId param(const std::string& name, const Type& type);
  // A parameter with a value that may be replaced at run time. `lets_read`: whoever asks for the
  // value makes it a constant.
  NodeId kept_weight(const std::string& name, Tensor value, bool lets_read);
  // Scalars stay immediate, for patterns and generated code; all else goes into the pool.
  NodeId constant(Tensor tensor);
  NodeId tuple(std::span<const NodeId> fields);
  NodeId project(NodeId tuple, int index);
  // Throws NodeError where operands or attributes do not fit the operator.
  NodeId call(const relay::Operator& op, std::span<const NodeId> args, Attrs attrs);

  const Type& type(NodeId id) const { return builder_.peek().type(id); }
  // The data of a value that is known, or null; until the next node is made.
  const Tensor* constant_of(NodeId id) const;
  // The same for who builds another graph depending on it: gives kept weights up that let it.
  const Tensor* read_constant(NodeId id);
  bool is_kept(NodeId id) const { return find_kept(id) != nullptr; }

  // A list of sizes: a constant where all are numbers. None is unknown.
  NodeId sizes(const Shape& sizes);
  NodeId scalar_size(const Dim& size);
  // Its elements as sizes, where they follow from sizes of tensors: symbols for those that are
  // known at run time, `?` where one is not; or null.
  const Shape* sizes_of(NodeId id) const;

  // Is low <= high whatever values in their ranges the symbols have?
  bool is_within(const Dim& low, const Dim& high) const;

  // ---- Control flow ----
  // Nodes up to end_branch belong to a branch of the `if` that is made next.
  relay::RegionId begin_branch() { return builder_.begin_region(); }
  void end_branch(NodeId result) { builder_.end_region(result); }
  // Further nodes of a branch that has ended, which end_branch ends again.
  void reopen_branch(relay::RegionId branch);
  // Throws NodeError where the branches' results do not agree.
  NodeId branch(NodeId condition, relay::RegionId then_region, relay::RegionId else_region);
  // Nodes up to end_function belong to a function of their own, which sees nothing around it.
  void begin_function();
  relay::Function end_function(NodeId result);
  // How many functions are around the current one, and back there after an error.
  std::size_t depth() const { return outer_.size(); }
  void leave_functions(std::size_t depth);
  // The body in place of the call.
  NodeId inline_function(const relay::Function& f, std::span<const NodeId> args) {
    return relay::inline_call(builder_, f, args);
  }
  NodeId call_global(const std::string& name, std::span<const NodeId> args, const Type& result);
  // A loop's function has its name before it is made: it calls itself.
  std::string new_global();
  void define_global(const std::string& name, relay::Function f) { globals_[name] = std::move(f); }
  std::map<std::string, relay::Function> take_globals() { return std::move(globals_); }

  relay::Function finish(NodeId result, Attrs attrs);
  // Those that are parameters of the finished function still, in its order.
  std::vector<KeptWeight> kept_weights() const;
  ConstantPool take_constants() { return std::move(constants_); }

 private:
  relay::Function in_order(relay::Function f) const;
  Type infer(const relay::Operator& op, std::span<const NodeId> args, const Attrs& attrs) const;
  std::optional<NodeId> fold(const relay::Operator& op, std::span<const NodeId> args,
                             const Attrs& attrs, const Type& type);
  std::optional<Shape> size_values_of(const relay::Operator& op, std::span<const NodeId> args,
                                      const Attrs& attrs, const Type& type) const;

  const SymbolTable& ranges_;
  relay::FunctionBuilder builder_;
  struct Open {
    relay::FunctionBuilder builder;
    std::map<NodeId, Shape> sizes;
  };
  struct Kept {
    NodeId param;  // of the outermost function
    KeptWeight weight;
    bool lets_read = false, was_read = false;
  };
  const Kept* find_kept(NodeId id) const;

  std::map<std::string, relay::Function> globals_;
  std::vector<Open> outer_;  // functions that have begun and wait
  ConstantPool constants_;
  std::vector<Kept> kept_;  // ascending by parameter
  std::map<NodeId, Shape> sizes_;
  Location location_;
  Limits limits_ = limits_for(0);
  std::int64_t nodes_ = 0;
  std::vector<Diagnostic> warnings_;
  double folded_work_ = 0, made_bytes_ = 0;
  bool has_reopened_ = false;
};

}  // namespace tessera::import
