// SPDX-License-Identifier: Apache-2.0
// All that a compilation writes for other programs and for people, without running one.
#pragma once

#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "tests/text_fuzz/models.h"

namespace tessera::text_fuzz {

struct Emitted {
  std::vector<std::string> sources;    // C++ and CUDA
  std::vector<std::string> job_names;  // file stems of these
  std::string page;                    // of --report
  std::string metadata;                // JSON
  std::string shown;                   // on a terminal
};

// By `targets`, one a word. Checks on the way that loop IR and graphs read back from their text.
Result<Emitted> emit_all(const FuzzModel& model, const std::vector<std::string>& targets);

}  // namespace tessera::text_fuzz
