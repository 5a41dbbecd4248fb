// SPDX-License-Identifier: Apache-2.0
// The statements of a host program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "emit/host.h"

namespace tessera::emit {

struct HostBody {
  Source text;  // the function tessera_entry, and others if it is long
  std::vector<std::pair<std::string, std::string>> steps;  // kernel, back end; in text order
};

// `extern_index`: position of each back-end symbol in the program's table of externs.
HostBody emit_host_body(const tir::PrimFunc& main, const Module& module,
                        const plan::MemoryPlan& plan,
                        const std::map<std::string, int>& extern_index);

}  // namespace tessera::emit
