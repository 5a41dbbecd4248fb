// SPDX-License-Identifier: Apache-2.0
// The host program of a module as C++ text: the tables of runtime/program.h and the entry that
// allocates nothing, calls kernels in order and reads like the plan.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "module/module.h"
#include "plan/plan.h"
#include "support/source.h"

namespace tessera::emit {

// Where each constant of the pool lies in the weights section; equal blobs share an offset. What
// neither the host program nor an artifact reads (a weight that was reordered, for instance) has no
// bytes there.
struct WeightsLayout {
  struct Piece {
    std::uint64_t offset = 0;
    std::shared_ptr<const Blob> blob;
  };
  std::vector<Piece> pieces;           // ascending, each blob once
  std::vector<std::uint64_t> offsets;  // by ConstantIndex
  std::vector<bool> used;              // by ConstantIndex
  std::uint64_t bytes = 0;
};
inline constexpr std::uint64_t kConstantAlignBytes = 64;
WeightsLayout layout_weights(const Module& module);

// A vendor library that travels with the model: beside it, or (`bytes` > 0) at `offset` of the
// weights section, after the weights.
struct BundledFile {
  std::string hash;
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t packed_bytes = 0;  // 0: it is not packed
};

// What the library says about itself besides its tables.
struct ProgramInfo {
  std::string build_id, target, cpu_arch;
  std::vector<std::string> cpu_features;  // "avx512f": the library refuses a CPU without them
  std::string metadata_json;
  std::map<std::string, BundledFile> bundled;  // by the file's name

  bool has_packed_files() const {
    return std::any_of(bundled.begin(), bundled.end(),
                       [](const auto& file) { return file.second.packed_bytes > 0; });
  }
};

// With an entry: the module's `main`, whose plan is `plan`. Without: a kernel library for the
// interpreter (exec/), which exports a table of generated kernels; what belongs to entries (inputs,
// outputs, pools) comes from the interpreter, so it serves any number of them.
enum class ProgramKind { kModel, kKernelLibrary };

// A model needs prim_funcs["main"] lowered and `plan` made for it. Deterministic.
Source emit_host(const Module& module, const plan::MemoryPlan& plan, const WeightsLayout& weights,
                 const ProgramInfo& info, ProgramKind kind);

}  // namespace tessera::emit
