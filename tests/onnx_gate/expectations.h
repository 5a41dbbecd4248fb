// SPDX-License-Identifier: Apache-2.0
// The two lists of cases: expected_pass.txt, a name a line, and expected_fail.txt, `name: reason`.
#pragma once

#include <map>
#include <set>
#include <string>

#include "diagnostics/diagnostic.h"

namespace tessera::onnx_gate {

struct Expectations {
  std::set<std::string> pass;
  std::map<std::string, std::string> fail;  // the reason by name

  static Result<Expectations> read(const std::string& folder);
  Result<void> write(const std::string& folder) const;
};

// Begins the reason of a case that the importer converts rightly and the compiler cannot yet do.
inline constexpr std::string_view kCompilerReason = "compiler: ";

}  // namespace tessera::onnx_gate
