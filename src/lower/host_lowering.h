// SPDX-License-Identifier: Apache-2.0
// A function of the graph on its way to a host program.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lower/host_program.h"
#include "lower/kernels.h"
#include "lower/tail_recursion.h"
#include "relay/function.h"
#include "relay/function_attributes.h"

namespace tessera::lower {

// Functions that become host programs; not kernels, nor what belongs to back ends.
inline bool is_host_function(const relay::Function& f) {
  return relay::is_optimizable(f) && !relay::is_primitive(f.attrs);
}

// A function's body, node by node; those of the functions that it calls are put in their places.
class HostLowering {
 public:
  HostLowering(const relay::Function& f, std::string name, Module& module, Kernels& kernels,
               HostProgram& host, const HostLowering* caller = nullptr)
      : f_(f),
        name_(std::move(name)),
        module_(module),
        kernels_(kernels),
        host_(host),
        caller_(caller),
        values_(f.num_nodes()),
        types_(f.num_nodes()),
        nodes_(f.num_regions()) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      nodes_[f[relay::NodeId(i)].region.index()].push_back(relay::NodeId(i));
    }
  }

  Result<tir::PrimFunc> run();

 private:
  using Values = std::vector<HostValue>;
  Values& value(relay::NodeId id) { return values_[id.index()]; }
  // With sizes that callees do not know from their annotations, but from the arguments.
  const Type& type(relay::NodeId id) const {
    return types_[id.index()] ? types_[id.index()] : f_.type(id);
  }
  std::vector<Type> types_of_nodes(std::span<const relay::NodeId> nodes) const;

  // ---- Nodes (host_lowering.cc) ----
  // The nodes of a region, but for `except` and its names; all errors together.
  Result<void> lower_region(relay::RegionId region, relay::NodeId except = {});
  Result<void> lower_node(relay::NodeId id);
  // The tensors of some nodes in order; constants become part of the program here.
  Values values_of(std::span<const relay::NodeId> nodes);
  void project(relay::NodeId id, relay::NodeId tuple, int index);
  Result<tir::PrimFunc> finish();
  // Those of the model, where the importer left them.

  // ---- Calls (host_calls.cc) ----
  // An operator outside of any primitive function: as if it were in one of its own.
  Result<void> lower_operator(relay::NodeId id);
  Result<void> lower_value_call(relay::NodeId id);
  // Kernels take no values from outside; other literals are put in place of the call.
  Result<void> call_literal(relay::NodeId id, const relay::Literal& literal,
                            std::span<const relay::NodeId> args);
  // A function of the module: its body in place of the call, a loop if it calls itself.
  Result<void> call_function(relay::NodeId id, const relay::Function& callee,
                             const std::string& name, std::span<const relay::NodeId> args);
  Result<void> enter(relay::NodeId id, const relay::Function& callee, const std::string& name,
                     const TailRecursion& recursion, std::span<const relay::NodeId> args);
  Result<void> call_extern(relay::NodeId id, const std::string& symbol,
                           std::span<const relay::NodeId> args);
  // Values of the formal dimensions of a back end's loop function: the sizes in the same places of
  // the call's tensors.
  std::vector<Dim> dims_of_loops(const std::string& symbol, std::span<const relay::NodeId> args,
                                 const Type& result) const;
  Result<void> call_region(relay::NodeId id, const relay::Function& f, relay::RegionId region,
                           std::span<const relay::NodeId> args);
  // The same where the arguments have the parameters' types; then where all sizes have names.
  Result<void> call_kernel(relay::NodeId id, const relay::Function& f, relay::RegionId region,
                           std::span<const relay::NodeId> args);
  Result<void> call_named(relay::NodeId id, const relay::Function& f, relay::RegionId region,
                          std::span<const relay::NodeId> args);
  // The function with names for all sizes in its types; the program has their values from here on.
  Result<relay::Function> with_named_sizes(relay::Function f, std::span<const relay::NodeId> args);
  // What a kernel computes stays in the module as a stub, as for externs of back ends: for shape
  // functions, and for whoever wants to compare.
  void keep_body(const std::string& symbol, const relay::Function& f, relay::RegionId region);

  // ---- Control flow (host_control_flow.cc) ----
  Result<void> lower_if(relay::NodeId id);
  // Memory for values of a type; of which the sizes may be decided when there are values.
  Values declare_values(const Type& type, const std::string& name, HostProgram::Memory use);
  void open_values(relay::NodeId id, const Values& memory);
  Type opened(const Type& type, const Values& memory, std::size_t& next, Values& out);
  Result<int> lower_branch(relay::RegionId region, const Values& results);
  Result<void> deliver(relay::RegionId region, const Values& into);
  // The value in other memory: computed there where that can be.
  void put(HostValue from, const Type& type, HostValue into);
  void copy(HostValue from, const Type& type, HostValue into);
  // A loop that the program goes round while a flag is set:
  //
  //   carried = arguments; flag = true
  //   while flag: { ...; if condition: { ...; carried = new values } else: { results; flag = false
  //   } }
  Result<void> lower_loop(const TailRecursion& recursion);
  static bool fits(const Type& annotation, const Type& type);
  Result<int> lower_tail_block(relay::RegionId region);
  // A region whose result is the loop's, or leads to its next iteration.
  Result<void> lower_tail(relay::RegionId region);
  // All new values are there before the first of the old ones goes.
  Result<void> go_round(relay::NodeId call);
  Result<void> changed_size(relay::NodeId call, std::size_t param) const;
  // A row of a loop's result, written where it belongs.
  Result<void> update_in_place(relay::NodeId id, std::size_t param);
  Result<void> check_row(relay::NodeId id, const RowUpdate& update);

  const relay::Function& f_;
  const std::string name_;
  Module& module_;
  Kernels& kernels_;
  HostProgram& host_;
  const HostLowering* caller_;
  std::vector<Values> values_;
  std::vector<Type> types_;
  std::vector<std::vector<relay::NodeId>> nodes_;  // by region
  std::set<relay::NodeId> failed_;
  const TailRecursion* loop_ = nullptr;  // of a function that is one:
  std::vector<Values> carried_;          // by parameter, where it changes
  Values results_;                       // where its results go
  HostValue flag_;                       // is there another iteration?
};

}  // namespace tessera::lower
