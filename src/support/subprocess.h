// SPDX-License-Identifier: Apache-2.0
// Runs a program and waits for it: no shell, both outputs captured, a time limit if wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/files.h"

namespace tessera {

struct ProcessOptions {
  std::string cwd;  // empty: that of this process
  std::optional<double> time_limit_s;
  std::optional<std::vector<std::string>> environment;  // "KEY=VALUE"; nothing: inherited
};

struct ProcessResult {
  int exit_status = -1;  // -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;  // killed, with what it had started, when the limit had passed
  std::string out, err;
  double seconds = 0;
  std::uint64_t peak_bytes = 0;  // the largest resident set of it and the children it waited for

  bool ok() const { return exit_status == 0; }
  std::string outcome()
      const;  // "exit status 1", "signal 11 (Segmentation fault)", "no end after 5 s"
};

// argv[0] without a slash is looked for in $PATH. Fails only if the program cannot be started;
// standard input is /dev/null.
FileResult<ProcessResult> run_process(const std::vector<std::string>& argv,
                                      const ProcessOptions& options = {});

}  // namespace tessera
