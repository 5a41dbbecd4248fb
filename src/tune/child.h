// SPDX-License-Identifier: Apache-2.0
// Work in a forked child: it finds everything as it is in this process, and what crashes or hangs
// costs the child alone.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tessera::tune {

struct ChildResult {
  std::string output;   // all that it printed
  std::string problem;  // "it hangs", "signal 11 (Segmentation fault)"; "": it came to its end
};

using Print = std::function<void(std::string_view)>;

// Runs `work` in a child. One that prints nothing for longer than the limit is killed, and so is
// one whose parent is told to end (support/termination.h). `work` makes no temporary folders.
ChildResult run_in_child(const std::function<void(const Print&)>& work, double silence_limit_s);

}  // namespace tessera::tune
