// SPDX-License-Identifier: Apache-2.0
// What nvcc is given: sources of kernels with the flags and headers that they need.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "backends/cutlass/attention/attention_configuration.h"
#include "backends/cutlass/gemm/configuration.h"
#include "byoc/compile_context.h"

namespace tessera::backends::cutlass {

// CUTLASS's own headers: the folder of the target, the one that TESSERA_CUTLASS_INCLUDE names, or
// where the build found them; "": nowhere.
std::string include_folder(const Target& target);
// One header of each part of CUTLASS that kernels include, of which only the first lies in that
// folder.
std::vector<std::string> needed_headers(const Target& target);

CompileJob kernel_job(const Gemm& gemm, const Configuration& configuration, const Target& target);
CompileJob kernel_job(const Attention& attention, const AttentionConfiguration& configuration,
                      const Target& target);
// The program that measures kernels of the work, and what it is told.
CompileJob measure_job(const Gemm& gemm, const Target& target);
CompileJob measure_job(const Attention& attention, const Target& target);
CompileJob table_job(Source source);
// The job of functions that call kernels: C++.
CompileJob regions_job(Source source, const Target& target);

}  // namespace tessera::backends::cutlass
