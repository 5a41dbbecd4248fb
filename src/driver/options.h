// SPDX-License-Identifier: Apache-2.0
// What `tessera compile` was asked for, and what it reports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collage/planned_region.h"
#include "diagnostics/diagnostic.h"
#include "driver/load_model.h"
#include "link/compiler.h"
#include "passes/float_operators.h"
#include "passes/precision_report.h"
#include "passes/weights_report.h"
#include "plan/options.h"
#include "tune/tuner.h"
#include "types/target.h"

namespace tessera::driver {

// Who chooses: nobody, the order of the targets, or what was measured.
enum class Partition { kNone, kGreedy, kCollage };
std::string_view to_string(Partition partition);

// Measuring of what has no record yet, on this machine: what back ends measure on its GPU, and
// candidates of `collage`.
struct TuningOptions {
  bool measures = false;
  double budget_s = 240;  // of compiling candidates and measuring them
  int kernels = 8;        // of each product, at most, that are compiled
  // Of collage: what the largest of open sizes counts, where the likely one counts the rest.
  double largest_share = 0;
  double evolve_s = 60;     // of collage: of building and timing whole plans of the second level
  bool in_regions = false;  // of collage: composites cost what they do inside of a region
  double silence_s = 60;    // after so long without a word what is measured hangs
};

// Whether the vendor libraries travel with the result: in files beside it, or inside of it.
enum class Bundle : std::uint8_t { kNone, kBeside, kInside };

struct CompileOptions {
  std::string model;
  std::string output;
  std::vector<Target> targets;  // machine and back ends, in order of priority
  std::vector<DimBinding> dims;
  import::KeptNames kept;
  LimitBindings limits;  // where they are not those that follow from the model
  Partition partition = Partition::kGreedy;
  std::vector<std::string> require;  // a matrix product or convolution elsewhere is an error
  DType precision = kFloat32;        // what a model of float32 is computed in, where that serves
  std::vector<std::string> weights;  // rules of passes/weight_rules.h; none: as the model has them
  plan::PlanOptions memory;          // where the program keeps what it computes
  bool strict = false;
  bool unchecked_indices = false;  // of gathers and scatters, where a run tells them
  bool link_params = false;        // constants belong to the kernels that read them
  bool verify = false;
  Bundle bundle = Bundle::kNone;
  bool reproducible = false;  // nothing of this machine is noted in the library
  std::string dump_dir;
  std::string report;   // a page to write about the compilation; "": none
  std::string depfile;  // a rule to write of what the library is made of; "": none
  std::string records;  // a file of measurements; "": none, or the cache's if it is measured
  TuningOptions tuning;
  int jobs = 0;                                       // 0: one a CPU
  double compiler_limit_s = link::kToolLimitSeconds;  // for one run of a compiler
  int threads = 0;                                    // that layouts are chosen for; 0: one a CPU
  std::string calibrate;  // a folder of inputs for static scales of fp8; "": none
};

// The CPU among the targets. If none is named: that of any machine with the device, where one is
// named, so that its library does not depend on where it was compiled; else `cpu` with all
// defaults.
Target host_target(const std::vector<Target>& targets);

struct StageTime {
  std::string name;
  double seconds = 0;
  std::string result;  // in a line
};

// A row of the placement table.
struct PlacementRow {
  std::string region;  // symbol
  std::string backend;
  std::vector<std::string> operators;
  std::vector<Location> sources;  // nodes of the model
  std::string reason;             // why a preferred back end declined; "" if none did
};

// How far the outputs are from those of the same model in float32 (--verify).
struct OutputError {
  std::string output;
  double largest = 0;   // of the differences
  double relative = 0;  // the same as a share of the largest magnitude
  // Elements that are infinite or NaN, and are numbers in float32; of how many.
  std::int64_t overflown = 0, elements = 0;
};

// What --precision auto tried.
struct TriedPrecision {
  DType dtype;
  std::vector<OutputError> errors;
  bool is_chosen = false;
};

// A plan of the whole model, measured beside the others.
struct WholePlan {
  std::string name;              // `collage`, `greedy`, `onednn alone`, `native`
  double seconds = 0;            // the median
  double predicted_seconds = 0;  // the sum over its regions and what any run takes; 0: not known
  std::string why_not;           // "": it ran, and computed what the others do
  bool is_chosen = false;
};

// What --partition collage found.
struct CollageReport {
  std::vector<collage::PlannedRegion> regions;
  double predicted_seconds = 0;  // the sum over the regions, and what any run takes
  // Of other plans by their names, where all of their regions have costs.
  std::map<std::string, double> predicted;
  std::size_t candidates = 0, programs = 0, measured = 0, failed = 0;
  std::size_t left = 0;     // programs without a cost, since the budget was spent
  std::size_t dropped = 0;  // partial plans that the search gave up
  std::vector<WholePlan> plans;
};

struct CompileReport {
  std::vector<StageTime> stages;
  std::vector<PlacementRow> placement;
  std::optional<passes::PrecisionReport> precision;     // where one was asked for
  std::vector<passes::WeightRow> weights;               // of products, where --weights has rules
  std::vector<passes::FloatOperators> float_operators;  // of a quantised model
  std::vector<OutputError> errors;                      // the same, with --verify
  std::vector<TriedPrecision> tried;                    // with --precision auto
  // In which products of the model, all in float32, could be computed on this machine.
  std::vector<DType> types_left;
  std::vector<tune::TuneRow> tuned;  // where it was measured
  std::size_t made = 0;  // engines and plans of this model that a device made, in the records
  std::optional<CollageReport> collage;  // where it was searched
  std::vector<Location> loops;           // of the model, that go step by step
  std::vector<Diagnostic> warnings;
  std::vector<std::string> needed_libraries;  // system ones first, then those opened with dlopen
  bool is_one_file = false;                   // those opened with dlopen are inside
  std::vector<std::string> vendor_folders;  // where the library looks for them here; see LinkInput
  std::uint64_t library_bytes = 0, weight_bytes = 0, arena_bytes = 0;
  double seconds = 0;
  std::uint64_t peak_bytes = 0;  // of the largest process of the tree
};

}  // namespace tessera::driver
