// SPDX-License-Identifier: Apache-2.0
// `compile --events`: what happens, as JSON on standard output, an object a line, for programs that
// start the command; the package for Python does. `event` names the kind:
//   {"event": "stage", "name", "seconds", "what"}      one has ended
//   {"event": "progress", "of": "compiling kernels" or "measuring", "share"}
//   {"event": "diagnostic", "severity", "code", "place", "finding", "rule", "remedy", "notes",
//    "text"}                                           `rule` explains the code, `text` is all
//   {"event": "report", ...}                           what --json prints, at the end
#pragma once

#include <functional>

#include "driver/compile.h"

namespace tessera::tools {

using RunCompiler = std::function<Result<driver::CompileReport>(const driver::Progress&)>;

// Both return the exit status of the command.
int compile_with_events(const RunCompiler& run);
int print_events(const Diagnostics& diagnostics);

}  // namespace tessera::tools
