// SPDX-License-Identifier: Apache-2.0
// Work in a child process: what crashes or hangs costs the child alone.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

constexpr std::string_view kHangs = "it hangs";

struct ChildResult {
  std::string output;       // all that it printed
  std::string problem;      // "it hangs", "signal 11 (Segmentation fault)"; "": it came to its end
  std::string thrown = {};  // what its work threw, if that is the problem
  bool is_killed = false;   // by signal 9, which this process did not send
};

using Print = std::function<void(std::string_view)>;

// Runs `work` in a forked child, which finds everything as it is in this process, but for threads:
// only the calling one is there. One that prints nothing for longer than the limit is killed, and
// so is one whose parent is told to end (support/termination.h). `work` makes no temporary folders.
ChildResult run_in_child(const std::function<void(const Print&)>& work, double silence_limit_s);

// The same of a program, which begins with nothing of this process: argv[0] is its path. Its output
// is what it prints on standard output; it reads nothing.
ChildResult run_program(const std::vector<std::string>& argv, double silence_limit_s);

}  // namespace tessera
