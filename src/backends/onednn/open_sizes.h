// SPDX-License-Identifier: Apache-2.0
// Sizes that a region leaves open: those that layouts are chosen for, and what the library makes of
// others in their ranges.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backends/onednn/kernel.h"
#include "backends/onednn/library_handle.h"

namespace tessera::backends::onednn {

using SymbolSizes = std::map<std::string, Dim>;

// The size of each symbol that layouts are chosen for.
SymbolSizes sizes_for_layouts(const std::set<std::string>& names, const SymbolTable& symbols);
SymbolSizes sizes_for_layouts(const byoc::RegionSizes& sizes, const SymbolTable& symbols);

// What a run reads off its tensors, and nothing else: a plan that needs more is none.
void give_sizes(runtime::JsonGraph& graph, const byoc::RegionSizes& sizes,
                const SymbolSizes& values);

// The first kernel of the plan that the library has only its reference for, by its node; nothing:
// all are fast.
std::optional<std::uint32_t> by_reference(const Plan& plan);

// At some size of the ranges, tried at their ends (or all of a small one): what the library has
// only its reference for, or no implementation at all. "": nothing.
std::string slow_sizes(const std::string& graph, const byoc::RegionSizes& sizes,
                       const SymbolTable& symbols, int threads);

}  // namespace tessera::backends::onednn
