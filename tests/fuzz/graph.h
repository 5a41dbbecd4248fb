// SPDX-License-Identifier: Apache-2.0
// A graph to be compiled, whose sizes may be open, and what it is run on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "module/module.h"
#include "relay/function.h"

namespace tessera::fuzz {

using Sizes = std::map<std::string, std::int64_t>;  // of symbols

// One set of sizes, and inputs that have them.
struct Run {
  Sizes sizes;
  std::vector<Tensor> inputs;  // one a parameter
};

struct Graph {
  relay::Function function;  // types inferred; constants are immediate
  SymbolTable symbols;       // with their ranges; empty: all sizes are numbers
  std::vector<Run> runs;     // one without symbols, else kSizeSets
};
inline constexpr int kSizeSets = 3;

// With numbers for symbols.
Dim closed(const Dim& dim, const Sizes& sizes);
Type closed(const Type& type, const Sizes& sizes);
// The same for all types that a function states; nothing if it is not right for them.
std::optional<relay::Function> closed(relay::Function f, const Sizes& sizes);

// What the operators' reference evaluation gives. Throws ops::CannotEvaluate.
std::vector<Tensor> reference(const Graph& graph, const Run& run);

// Symbols that types of parameters have, and that no parameter has as a size by itself: no model
// could read them.
std::vector<std::string> unreadable_symbols(const relay::Function& f);
// A parameter for each of these, whose size is the symbol; its tensor is size_tensor().
Graph with_readable_sizes(Graph graph);
Tensor size_tensor(const Type& type, const Run& run);

// The graph as @main of a module, and its text.
Module module_of(const Graph& graph);

}  // namespace tessera::fuzz
