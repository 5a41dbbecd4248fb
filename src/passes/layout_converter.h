// SPDX-License-Identifier: Apache-2.0
// Convolutions in other layouts, and what follows them with them: the work of convert-layout, for
// all operators of a function or for those that somebody chose.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "passes/layout_forms.h"

namespace tessera::passes {

// What an operator is to have: data in "NHWC", kernels in "HWIO", or "OHWI" where that is named,
// and for those of several groups where it is named for them, too. Kernels of one channel a group
// are in the first in any case: their channels lie beside each other.
struct OperatorLayouts {
  std::string data, channelwise_kernel, kernel, grouped_kernel;
};
using DesiredLayouts = std::map<std::string, OperatorLayouts, std::less<>>;

// Of texts as the option `desired` of convert-layout has them.
Result<DesiredLayouts> parse_desired_layouts(const std::vector<std::string>& texts);

// What a node and those that it is followed by are to have; null: it stays as it is.
using LayoutsOf = std::function<const DesiredLayouts*(relay::NodeId)>;

// Where a value of the old function is in the new one. Nodes that nothing reads are invalid.
struct ConvertedValue {
  relay::NodeId plain;                  // as it was
  relay::NodeId computed;               // by the operator itself, in whatever order
  std::vector<relay::NodeId> permuted;  // with its dimensions in another order
  Permutation axes;                     // that order
  bool is_computed_permuted = false;    // is that what its operator computes?
  bool is_view = false;  // a transpose of the model, in place of which values change their order
};

struct ConvertedFunction {
  relay::Function function;
  std::vector<ConvertedValue> values;  // by node of the old function
};

// Needs types; those of new nodes are not known.
ConvertedFunction converted_layouts(const relay::Function& f, const ConstantPool& pool,
                                    const LayoutsOf& layouts_of);

}  // namespace tessera::passes
