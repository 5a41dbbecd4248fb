// SPDX-License-Identifier: Apache-2.0
// The standard ways to make a function from another one. Nothing here edits a function, recurses on
// the graph, or takes more than near-linear time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "relay/function.h"

namespace tessera::relay {

// ---- Facts about a function
// ----------------------------------------------------------------------

// By node index: does the result depend on it? Live too are the parameters of live regions and the
// `let`s in live regions, with what they name.
std::vector<bool> live_nodes(const Function& f);

// Who uses what. A node that is the result of a literal's body or of a branch is used by that
// literal or `if`; the function's own result has no user for it.
class Uses {
 public:
  explicit Uses(const Function& f);
  // Ascending; a user that reads the node twice occurs twice.
  std::span<const NodeId> of(NodeId id) const {
    return {users_.data() + first_[id.index()], first_[id.index() + 1] - first_[id.index()]};
  }
  bool is_result(NodeId id) const { return id == result_; }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<NodeId> users_;
  NodeId result_;
};

// For each literal and `if` (by node index): the nodes outside that nodes inside it read, its
// operands excepted; ascending, once each.
std::vector<std::vector<NodeId>> captures(const Function& f);
// Is `inner` the region `outer`, or inside it?
bool is_within(const Function& f, RegionId inner, RegionId outer);
// The nodes of a region and of those inside it, ascending.
std::vector<NodeId> nodes_within(const Function& f, RegionId region);
// The regions of a literal (its body) or an `if` (then, else); none of other nodes.
std::vector<RegionId> regions_of(const Function& f, NodeId id);

// ---- Copying
// ---------------------------------------------------------------------------------------

// Copies nodes of one function into the builder of another; a callback may replace each.
class Copier {
 public:
  // Called with a node when its operands are mapped, and the regions of a literal or `if` copied.
  // Returns the new node that stands for it, or nothing to have it copied. A parameter that is
  // replaced is no parameter any more.
  using Callback = std::function<std::optional<NodeId>(Copier&, NodeId)>;
  // Called once with a branch of an `if` before its nodes are copied. If it returns true, they are
  // made in the region around the `if`, which the other callback must then replace.
  using Dissolve = std::function<bool(Copier&, RegionId)>;
  // Called with a region whose nodes are made, the function's body included: returns what stands
  // for its result, and may make nodes for that.
  using Close = std::function<NodeId(Copier&, RegionId)>;

  // `dense`: most nodes of `from` will be copied.
  Copier(const Function& from, FunctionBuilder& into, bool dense);

  const Function& from() const { return from_; }
  FunctionBuilder& builder() { return into_; }
  // The new node that stands for an old one; invalid if there is none yet.
  NodeId map(NodeId old) const;
  void set(NodeId old, NodeId fresh);
  // The mapped operands of an old node.
  std::vector<NodeId> operands(NodeId old) const;
  // Did the nodes of this region go to the region around it?
  bool is_dissolved(RegionId region) { return home(region) != region; }
  // A copy of an old node, with mapped or with other operands.
  NodeId copy(NodeId old);
  NodeId copy(NodeId old, std::span<const NodeId> operands);

  // Copies `nodes` (of `outer` and of regions inside it) in their order: operands first, the nodes
  // of a region together and before its owner, as they are in ascending order. Nodes that are set
  // already are passed over.
  void run(RegionId outer, std::span<const NodeId> nodes, const Callback& replace = {},
           const Dissolve& dissolve = {}, const Close& close = {});

 private:
  void close_to(RegionId region);
  void open(RegionId region);
  void open_regions_of(NodeId owner);
  RegionId home(RegionId region);
  NodeId require(NodeId old) const;

  const Function& from_;
  FunctionBuilder& into_;
  std::vector<NodeId> dense_;
  std::unordered_map<std::uint32_t, NodeId> sparse_;
  std::unordered_map<std::uint32_t, RegionId> regions_;  // new by old
  std::vector<RegionId> open_;                           // old, the outermost first
  Dissolve dissolve_;
  Close close_;
  std::unordered_map<std::uint32_t, RegionId> homes_;  // where a region's nodes are made; both old
};

// ---- Rewriting
// -------------------------------------------------------------------------------------

// A new function made of the live nodes of `f`, front to back, where the callback may replace each:
//
//   Function g = rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
//     if (f.op(id) != &dropout) return std::nullopt;  // keep: copied with mapped operands
//     return c.map(f.operands(id)[0]);                // drop: its operand stands for it
//   });
//
// New nodes are made with c.builder(). What nothing uses any more is left out. Attributes,
// annotations and the types of copied nodes are kept.
Function rewrite(const Function& f, const Copier::Callback& replace,
                 const Copier::Dissolve& dissolve = {}, const Copier::Close& close = {});
// The same for nodes in another order, which Copier::run describes; only these are copied.
Function rewrite(const Function& f, std::span<const NodeId> order, const Copier::Callback& replace);
// The function without its dead nodes; itself if there are none.
Function without_dead_nodes(Function f);

// ---- Cutting and pasting
// -----------------------------------------------------------------------------

struct Extracted {
  Function function;
  std::vector<NodeId> inputs;   // nodes of the old function, one a parameter
  std::vector<NodeId> outputs;  // nodes of the set that are used outside; several make a tuple
};
struct ExtractOptions {
  std::string param_prefix = "FunctionVar_";  // parameters are called prefix + number
  Attrs attrs;
};
// The nodes of `set`, which lie in one region, as a function of their own; what is inside literals
// and `if`s comes along. Values from outside become parameters, in the order in which evaluation of
// the outputs, arguments first, meets them; references to globals are copied.
Extracted extract(const Function& f, const Uses& uses, std::span<const NodeId> set,
                  const ExtractOptions& options = {});
// What is being built, with these results, one at least, of these types, as far as they are known;
// several make a tuple. It is located where the nodes were that it was made of.
Function finish_extracted(FunctionBuilder& builder, std::span<const NodeId> results,
                          std::vector<Type> types, Attrs attrs, std::vector<Location> places);

// Makes the nodes of f's body in the builder's current region, with `args` for its parameters;
// returns what stands for its result.
NodeId inline_call(FunctionBuilder& into, const Function& f, std::span<const NodeId> args);
// The function without these parameters: constants stand for them.
Function bind_params(const Function& f, const std::map<NodeId, ConstantValue>& bound);
// Makes `f` a function literal in the builder's current region.
NodeId embed(FunctionBuilder& into, const Function& f);
// A literal as a function of its own. It must not capture (Primitive, Compiler and Composite do
// not).
Function outline(const Function& f, NodeId literal);

}  // namespace tessera::relay
