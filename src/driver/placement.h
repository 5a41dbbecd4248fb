// SPDX-License-Identifier: Apache-2.0
// Which back end runs what.
#pragma once

#include <string_view>

#include "byoc/placer.h"
#include "driver/options.h"

namespace tessera::driver {

// Who was asked, and why they did not take what they did not take.
struct PlacementFacts {
  std::vector<std::string> tried;  // back ends that work here, in order of priority
  std::vector<byoc::PlacementRefusal> refusals;
};

struct Placed : PlacementFacts {
  Module module;
  std::vector<PlacementRow> rows;
  std::vector<Diagnostic> warnings;
};

// A module cut into regions, before any is compiled.
struct Partitioned : PlacementFacts {
  byoc::PartitionOutcome outcome;
  std::vector<byoc::BackendChoice> choices, named_only;
  std::vector<Diagnostic> warnings;
  Diagnostics unmeasurable;  // targets that are left out, though they are to be measured
};

// The one of that name, or null.
const byoc::BackendChoice* find_choice(std::string_view name,
                                       const std::vector<byoc::BackendChoice>& choices);

// The layouts that the back ends of options.targets need, for each operator those of the first that
// names one: `desired` of convert-layout.
std::vector<std::string> desired_layouts(const CompileOptions& options);
// The same of each back end for itself, those that differ, in their order.
std::vector<std::vector<std::string>> layouts_by_back_end(const CompileOptions& options);
// Those that will place, with whoever takes operators that are no loops.
std::vector<byoc::BackendChoice> placing_choices(const CompileOptions& options);
// Does one declare int8_products (byoc::Capabilities), which convert-quantized-products makes?
bool multiplies_integers(const CompileOptions& options);
// Does one declare float8_products?
bool multiplies_float8(const CompileOptions& options);
// Does one declare mixed_products?
bool multiplies_mixed_types(const CompileOptions& options);
// Does one declare widened_products?
bool multiplies_widened_integers(const CompileOptions& options);
// Does one declare scaled_rows, which fold-layer-norm makes?
bool scales_rows(const CompileOptions& options);

// The types of 16 bits that generated code has no kernels of here.
std::vector<DType> slow_16_bit_types(const CompileOptions& options);
// Those of them that generated code multiplies matrices in. None where there are back ends, which
// may be faster in float32: they are asked for what they take.
std::vector<DType> native_product_types(const CompileOptions& options);
// Does generated code multiply what eight bits were made of? Where a back end may take products, it
// has them in float32 if it takes none of integers.
bool native_multiplies_integers(const CompileOptions& options);
// What list-float-operators is told of it all: none, all, pairs.
std::string_view integer_products(const CompileOptions& options);

// Those of them that no back end has kernels of either: what a model
// computes in them is computed in float32.
std::vector<DType> widened_types(const CompileOptions& options);

// Partitions `main` over the back ends of options.targets; what nobody took stays.
Result<Partitioned> partition_module(Module module, const CompileOptions& options,
                                     Toolchain& toolchain, byoc::Placer& placer);
// What a compilation has of records; null: nothing.
struct Kept {
  const byoc::Measurements* measurements = nullptr;
  byoc::MadeParts* made = nullptr;
};
// Runs the back ends' hooks on their regions.
Result<Placed> compile_regions(Partitioned parts, const CompileOptions& options, const Kept& kept,
                               Toolchain& toolchain, byoc::Placer& placer);

// A matrix product or convolution.
bool is_product(std::string_view op);

// Why no back end of higher priority took the row's operators; "" if none can be named.
std::string reason_of(const PlacementRow& row, const PlacementFacts& facts);

// Rows of the kernels that no back end took, with the reasons.
std::vector<PlacementRow> native_rows(const Module& lowered, const PlacementFacts& facts);

// The row's matrix product or convolution, or null.
const std::string* heavy_operator(const PlacementRow& row);

// --require: an error for each matrix product or convolution on none of these.
Result<void> check_required(const std::vector<PlacementRow>& rows,
                            const std::vector<std::string>& required);

}  // namespace tessera::driver
