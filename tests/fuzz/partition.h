// SPDX-License-Identifier: Apache-2.0
// Random partitions of a graph over back ends, in all the ways in which users write them.
#pragma once

#include "module/module.h"
#include "tests/fuzz/groups.h"
#include "tests/fuzz/random_graph.h"

namespace tessera::fuzz {

enum class Style : std::uint8_t {
  kNone,       // left to the placement of the compilation
  kGreedy,     // byoc's placement with an order of its own
  kMarks,      // compiler_begin and compiler_end, merge-compiler-regions, partition-graph
  kAnnotated,  // merge-composite, annotate-target and the same two
  kLiterals,   // function literals with `Compiler`
  kGlobals,    // functions of the module with `Compiler`
};
std::string_view to_string(Style style);

// `f` as the function `name` of a module, with a partition of that style, which the seed decides;
// names of other functions begin with `name`, too. An error is a legal partition that was refused.
Result<Module> partitioned(const relay::Function& f, const std::string& name, Style style,
                           std::uint64_t seed);

// The passes by their names, with verification after each.
Result<Module> run_passes(Module module, const std::string& text);

// Marks around groups, legal or not. A value that leaves a group has one `compiler_end`, or one for
// each use.
enum class Ends { kOnce, kEachUse };
relay::Function with_marks(const relay::Function& f, const Groups& groups, Ends ends);

}  // namespace tessera::fuzz
