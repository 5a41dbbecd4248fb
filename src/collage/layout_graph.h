// SPDX-License-Identifier: Apache-2.0
// A function with its convolutions, and what follows them, in the layouts that a back end wants:
// where candidates in these layouts come from. They are candidates for nodes of the plain function.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collage/candidate.h"
#include "passes/layout_converter.h"

namespace tessera::collage {

// A candidate of the plain graph whose function is in the layouts.
struct LaidOut {
  SubGraph plain;                      // whose nodes it computes
  SubGraph made;                       // what computes them
  std::vector<Index> inputs, outputs;  // of the plain graph: those in another order
};

class LayoutGraph {
 public:
  // `plain` is of a function of the module; with types, and without branches or literals.
  static Result<LayoutGraph> make(const Module& module, const DataflowGraph& plain,
                                  const std::vector<std::string>& desired);

  const DataflowGraph& graph() const { return *graph_; }
  // Is any value in another order?
  bool changes_anything() const;
  // The order of the dimensions of a value of the plain graph; null where it does not change.
  const passes::Permutation* axes_of(Index value) const;

  enum class Conversions : std::uint8_t { kStay, kAreLeftOut };
  // What a sub-graph of graph() computes, or, without the conversions in it, what is left. Nothing
  // where it is the same in the plain graph, or holds conversions that stay.
  std::optional<LaidOut> on_plain(const DataflowGraph& plain, const SubGraph& made,
                                  Conversions conversions) const;
  // Transposes of the model that are mere views, as values change their order anyway.
  struct View {
    Index value = 0;
    bool reads_permuted = false, is_permuted = false;
  };
  std::vector<View> views(const DataflowGraph& plain) const;

 private:
  std::vector<Index> permuted_inputs(const DataflowGraph& plain, const SubGraph& of_plain,
                                     const SubGraph& made) const;
  const passes::ConvertedValue* value_at(const DataflowGraph& plain, Index index) const;

  std::unique_ptr<const Module> module_;  // graph_ refers to its function and pool
  std::unique_ptr<const DataflowGraph> graph_;
  std::vector<passes::ConvertedValue> values_;  // by node of the plain function
  std::vector<relay::NodeId> old_of_;  // by node of the new one: whose value it computes, if any's
  std::vector<passes::Permutation> axes_;  // by index of the plain graph; none: it stays
};

}  // namespace tessera::collage
