// SPDX-License-Identifier: Apache-2.0
// From a region to its JSON graph and constants, through the plan that the runtime will make too.
#pragma once

#include <map>

#include "backends/onednn/kernel.h"
#include "backends/onednn/library_handle.h"

namespace tessera::backends::onednn {

// What compiling a region gives.
struct RegionCode {
  std::string graph;  // JSON
  std::vector<NamedConstant> constants;
  std::int64_t workspace_bytes = 0;
  std::vector<std::string> operators;  // composites, without the back end's name
  std::string slow_sizes;              // see open_sizes.h
};

struct CodegenOptions {
  const SymbolTable& symbols;   // ranges and likely sizes
  int threads = 1;              // that the library is to run with
  bool reorder_weights = true;  // false where the library runs on another CPU than this one
};

// Weights that have been brought into a layout, by bytes and layout: regions may share them.
using ReorderedWeights = std::map<std::pair<std::uint64_t, std::string>, ConstantIndex>;

// Adds the region's constants to the pool.
Result<RegionCode> generate(const std::string& symbol, const relay::Function& region,
                            const CodegenOptions& options, ReorderedWeights& reordered,
                            ConstantPool& pool);

// Why a run cannot know all sizes in the region: it has those of the region's tensors.
std::optional<Refusal> sizes_refusal(const relay::Function& region);

// Why the library would not run the kernel well: it has no implementation, or its reference only.
std::optional<Refusal> library_refusal(const Subject& subject, const Kernel& kernel);

}  // namespace tessera::backends::onednn
