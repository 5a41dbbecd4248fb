// SPDX-License-Identifier: Apache-2.0
// The one interface of a back end (architecture section 7). Adding one is a folder in backends/ and
// a line in backends.def; it must pass conformance: what it accepts compiles and matches the
// reference.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/compile_context.h"
#include "byoc/tuning_task.h"
#include "module/module.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::byoc {

using relay::CompositePattern;
using relay::Refusal;

// Which composites may share one region.
enum class FusionStyle : std::uint8_t {
  kOneComposite,  // each composite is its own function
  kAnyConvex,     // neighbouring composites merge into maximal convex regions
};

// Where constants of a region live when `compile` sees it.
enum class ConstantStyle : std::uint8_t {
  kEmbedded,   // in the function's body
  kArguments,  // passed by the caller
};

// What of the forms that graph passes can give a model a back end has kernels of, when all else
// suits it: the passes prepare for it. Each is true only if it is for its target and on this
// machine, which backends/capabilities_test.cc tries with a graph of each form.
struct Capabilities {
  bool int8_products = false;           // int8 by int8 with int32 sums: convert-quantized-products
  bool widened_products = false;        // int32 that were bytes, by a constant: split-long-sums
  bool scaled_rows = false;             // a factor for each row of a product: fold-layer-norm
  bool float8_products = false;         // of floats of eight bits: convert-float8-products
  bool mixed_products = false;          // of 16 bits by 4 or 8: convert-mixed-products
  std::vector<DType> types_of_16_bits;  // of products: models need not be widened to float32
};

// What a back end computes with on this machine: a vendor library, or headers of kernels. Records
// of measurements are of its version.
struct UsedLibrary {
  std::string version;    // "oneDNN 3.5.3"
  std::string path;       // of the file or folder
  std::string note = {};  // what people had better know of it
};

struct Declined {
  std::string symbol;
  Diagnostic why;
};

// The module with artifacts added and compiled functions turned into Extern=1 stubs; declined
// functions are left as they were.
struct CompileOutcome {
  Module module;
  std::vector<Declined> declined;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // the `Compiler` attribute and the Target kind
  // What is missing on this machine ("libdnnl.so.3 was not found: install ..."), or nothing.
  virtual std::optional<Refusal> available(const Target&) const { return std::nullopt; }
  // Does `compile` run nvcc? Whether there is one is the toolchain's to know.
  virtual bool needs_cuda_compiler() const { return false; }
  // Options of its target that do less than they seem to: what a user had better know about a
  // compilation that goes on.
  virtual std::vector<Diagnostic> warnings(const Target&) const { return {}; }
  // As it is used for a CPU when the user names no back end; nothing: it is not. Those of devices,
  // templates and teaching back ends are not.
  virtual std::optional<Target> default_target(const Target& /*cpu*/) const {
    return Target(name());
  }
  // Where this machine has the vendor library of that file name, for --bundle and for runs in
  // process; "": nowhere.
  virtual std::string library_path(std::string_view) const { return ""; }
  // May its libraries be opened from files in memory, for --bundle=inside? Not if they look for
  // others beside themselves.
  virtual bool loads_from_memory() const { return true; }
  // Why --bundle cannot put that library beside a model; nothing: it can.
  virtual std::optional<Refusal> refuses_to_bundle() const { return std::nullopt; }
  // Asked of those that are available.
  virtual std::optional<UsedLibrary> library(const Target&) const { return std::nullopt; }
  // In order of priority: an earlier pattern claims its nodes first.
  virtual std::vector<CompositePattern> patterns(const Target&) const = 0;
  // A composite that a model brings and none of the patterns takes whole: why `compile` does not
  // either. Without a reason it must, under the name that the model gives it.
  virtual std::optional<Refusal> refuses_composite(const relay::Function&, const Target&) const {
    return Refusal{"it has no pattern for the whole composite"};
  }
  // Layouts that it needs, as `desired` of convert-layout says them: "nn.conv2d:NHWC:OHWI".
  virtual std::vector<std::string> layouts(const Target&) const { return {}; }
  virtual Capabilities capabilities(const Target&) const { return {}; }
  // The whole extracted region, after types are known: what the checks of its patterns, each for
  // itself, cannot see.
  virtual std::optional<Refusal> validate(const relay::Function&, const Target&) const {
    return std::nullopt;
  }
  // Which composites of its table collage may put into one function.
  virtual relay::Combining combining() const { return relay::Combining::kAny; }
  // What it makes of one operator says nothing of what it makes of a model: collage measures the
  // regions of its greedy partitions alone, and no composites of them.
  virtual bool takes_whole_graphs() const { return false; }
  virtual FusionStyle fusion_style() const { return FusionStyle::kOneComposite; }
  virtual ConstantStyle constants() const { return ConstantStyle::kArguments; }
  // Does it choose by what was measured? Users are told who does.
  virtual bool measures() const { return false; }
  // Asked of those alone: what there is to measure among the functions with this `Compiler`, equal
  // work once; `sizes` of symbols are those to measure at. `compile` takes the fastest on record.
  virtual std::vector<TuningTask> tuning_tasks(const Module&, const Target&,
                                               const std::map<std::string, Dim>& /*sizes*/) const {
    return {};
  }
  // Does a device, or its driver, make a part of what `compile` leaves, with other bytes each time
  // perhaps? Such a back end looks for it in context.made first, and keeps it there.
  virtual bool makes_on_device(const Target&) const { return false; }
  // Asked before regions are placed, if `patterns` depends on such parts: what the records have.
  // Null: there are none, whatever there was before.
  virtual Result<void> recall(const Target&, const MadeParts*) const { return {}; }
  // The RelayToTIR hook: sees all functions with this `Compiler` at once. Fails only for what
  // concerns the whole back end.
  virtual Result<CompileOutcome> compile(Module, const Target&, CompileContext&) const = 0;
};

}  // namespace tessera::byoc
