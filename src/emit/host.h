// SPDX-License-Identifier: Apache-2.0
// The host program of a module as C++ text: the tables of runtime/program.h and the entry that
// allocates nothing, calls kernels in order and reads like the plan.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/module.h"
#include "plan/plan.h"
#include "support/source.h"

namespace tessera::emit {

// What stands for blobs in the section (constants/lossless.h).
struct PackedBlob {
  std::shared_ptr<const Blob> packed;
  std::uint32_t element_bytes = 0;
};
using PackedBlobs = std::map<const Blob*, PackedBlob>;

// Where each constant of the pool lies in the weights section; equal blobs share an offset. What
// neither the host program nor an artifact reads (a weight that was reordered, for instance) has no
// bytes there. Those that are packed have offsets after all others, as if they followed them
// unpacked; packed they do.
struct WeightsLayout {
  struct Piece {
    std::uint64_t offset = 0;
    std::shared_ptr<const Blob> blob;
  };
  struct Packed {
    std::uint64_t offset = 0, bytes = 0;
    std::uint64_t packed_offset = 0, packed_bytes = 0;
    std::uint32_t element_bytes = 0;
    bool on_host = false;  // a program for a device reads it in the host's memory
  };
  std::vector<Piece> pieces;           // of the section: ascending, each blob once
  std::vector<std::uint64_t> offsets;  // by ConstantIndex
  std::vector<bool> used;              // by ConstantIndex
  std::vector<Packed> packed;
  std::uint64_t mapped_bytes = 0;    // of the constants that are not packed
  std::uint64_t unpacked_bytes = 0;  // of the others, once they are not
  std::uint64_t bytes = 0;           // of the section
};
// Of modules in one library, whose constants are planned together: the pieces and bytes are those
// of all. Where some are packed, nothing has the place that is planned.
std::vector<WeightsLayout> layout_weights(std::span<const Module* const> modules,
                                          const plan::ConstantPlan& plan,
                                          const PackedBlobs& packed = {});
WeightsLayout layout_weights(const Module& module, const plan::ConstantPlan& plan,
                             const PackedBlobs& packed = {});

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
  PackedBlobs packed;

  bool has_packed_files() const {
    return std::any_of(bundled.begin(), bundled.end(),
                       [](const auto& file) { return file.second.packed_bytes > 0; });
  }
};

// With an entry: the module's `main`, whose plan is `plan`. Without: a kernel library for the
// interpreter (exec/), which exports a table of generated kernels; what belongs to entries (inputs,
// outputs, pools) comes from the interpreter, so it serves any number of them.
enum class ProgramKind { kModel, kKernelLibrary };

// The same model for another CPU, in the same library.
struct OtherMachine {
  const Module& module;  // its kernels have names of their own
  const plan::MemoryPlan& plan;
  const WeightsLayout& weights;
  ProgramInfo info;
};

// A model needs prim_funcs["main"] lowered and `plan` made for it. Deterministic. A program for
// another machine is taken where a CPU lacks features for those before it.
Source emit_host(const Module& module, const plan::MemoryPlan& plan, const WeightsLayout& weights,
                 const ProgramInfo& info, ProgramKind kind,
                 std::span<const OtherMachine> others = {});

// A kernel library that has programs of its own besides: the module's host functions of these
// names, with their plans. Each is created by the exported function of create_function(), as a
// model is by tessera_model_create; program_of_entry() is an exported pointer to its tables.
using EntryPlans = std::map<std::string, plan::MemoryPlan>;
Source emit_entries(const Module& module, const EntryPlans& entries, const WeightsLayout& weights,
                    const ProgramInfo& info);
std::string create_function(std::string_view entry);
std::string program_of_entry(std::string_view entry);

}  // namespace tessera::emit
