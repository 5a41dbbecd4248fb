// SPDX-License-Identifier: Apache-2.0
// The statements of a host program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "emit/host.h"

namespace tessera::emit {

struct HostBody {
  std::string text;                                        // the function tessera_entry
  std::vector<std::pair<std::string, std::string>> steps;  // kernel, back end; in text order
};

// `extern_index`: position of each back-end symbol in the program's table of externs.
HostBody emit_host_body(const tir::PrimFunc& main, const Module& module,
                        const plan::MemoryPlan& plan,
                        const std::map<std::string, int>& extern_index);

// The function tessera_shapes_of_outputs; `main` has formal dimensions.
std::string emit_output_shapes(const tir::PrimFunc& main);
// The function tessera_size_of_input, and whether an input has a dimension that is an expression.
std::string emit_input_size(const tir::PrimFunc& main);
bool has_input_expressions(const tir::PrimFunc& main);

}  // namespace tessera::emit
