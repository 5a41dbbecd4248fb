// SPDX-License-Identifier: Apache-2.0
// The stages of a compilation that run passes; which ones, pass_order.h says.
#pragma once

#include <span>

#include "driver/options.h"
#include "passes/manager.h"

namespace tessera::driver {

// The bytes of a module's constants: what its limits follow from.
std::uint64_t constant_bytes(const Module& module);

// What is computed in these types to float32. The text says what was: none if nothing is.
struct Widened {
  Module module;
  std::string what;
};
Result<Widened> widen_precision(Module module, std::span<const DType> dtypes,
                                const CompileOptions& options, std::vector<Diagnostic>& warnings);
// Graph passes before anything is placed, and what they tell.
struct GraphReport {
  std::vector<passes::WeightRow> weights;
  std::vector<passes::FloatOperators> float_operators;
};
Result<Module> optimize_graph(Module module, const CompileOptions& options,
                              std::vector<Diagnostic>& warnings, GraphReport* report = nullptr);
// --precision: to a 16-bit type, and what that leaves to simplify; a type that is widened stays
// float32 in the first place.
struct Reduced {
  Module module;
  passes::PrecisionReport report;
  std::string what;
};
Result<Reduced> reduce_precision(Module module, std::span<const DType> widened,
                                 const CompileOptions& options, std::vector<Diagnostic>& warnings);
// To the layouts that are desired, and what that leaves to simplify.
Result<Module> convert_layouts(Module module, const std::vector<std::string>& desired,
                               const CompileOptions& options, std::vector<Diagnostic>& warnings);
// What that leaves to simplify, where layouts were converted otherwise.
Result<Module> finish_layouts(Module module, const CompileOptions& options,
                              std::vector<Diagnostic>& warnings);
// Large norms become factors of rows in the products that read them: for back ends of which
// `scales_rows` is true.
Result<Module> fold_norms(Module module, const CompileOptions& options,
                          std::vector<Diagnostic>& warnings);
// What is left for native code, after back ends took their regions; on a CPU, what of that is of 16
// bits becomes float32.
Result<Module> prepare_native(Module module, const CompileOptions& options,
                              std::vector<Diagnostic>& warnings);
// How much that will be, in a line; "" for nothing.
std::string native_widening(const Module& module, const CompileOptions& options);

}  // namespace tessera::driver
