// SPDX-License-Identifier: Apache-2.0
// Which passes a compilation runs, in which order, when and why: the rows of pass_order.def.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "driver/options.h"

namespace tessera::driver {

// The parts of a compilation between which something else than a pass happens.
enum class Stage {
  kWidening,   // 16 bits of the model to float32, where nothing has kernels. Argument: the types
  kGraph,      // before anything is placed
  kPrecision,  // --precision: to a 16-bit type. Argument: the type
  kLayout,     // to the layouts that back ends desire. Argument: the layouts
  kLaidOut,    // what follows on that, whoever converted them
  kNorms,      // for back ends that scale rows
  // What is left for native code, after back ends took their regions. Argument: do kernels hold
  // their constants?
  kNative,
};

// When a step is taken.
enum class When {
  kAlways,
  kUncheckedIndices,  // --unchecked-indices
  kWeights,           // --weights
  kIntegers,          // a GPU computes, and one of its back ends multiplies integers of eight bits
  kFloat8,            // a back end multiplies floats of eight bits
  kMixed,             // a back end multiplies 16 bits by 4 and 8
  kIntegersOnCpu,  // a CPU computes, and one of its back ends multiplies what eight bits were made
                   // of
  kIntegerPairs,   // a CPU computes, without back ends, and generated code multiplies integers by
                   // pairs
  kGpu,            // a GPU is among the targets
  kComputesOnGpu,  // it is what the model is compiled for
  kComputesOnCpu,
  kMatrixUnit,           // of these, where all processors multiply matrices of bytes
  kFastProducts,         // of these, where generated code multiplies matrices of bfloat16
  kWithoutFastProducts,  // the others
};

struct PassStep {
  Stage stage;
  std::string_view pass;  // as on the command line; `$` is the stage's argument
  When when;
  std::string_view why;  // here: of this place in the order
};

std::span<const PassStep> pass_order();

// The passes of a stage as on the command line: `fold-constant,simplify-expr`.
std::string pass_list(Stage stage, const CompileOptions& options, std::string_view argument = "");

}  // namespace tessera::driver
