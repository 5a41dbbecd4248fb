// SPDX-License-Identifier: Apache-2.0
// The C++ compiler of the machine, which also drives the linker.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "support/subprocess.h"

namespace tessera::link {

struct Compiler {
  std::vector<std::string> command;  // "/usr/bin/g++", or $CXX split at spaces
  std::string identity;              // first line of --version, and the path
};

// $CXX if it is set, else the first of c++, g++, clang++ in $PATH.
Result<Compiler> find_compiler();

// The file that $PATH, or a path with a slash, leads to; empty if there is none.
std::string find_program(const std::string& name);

// After so long a compiler or linker is taken for one that never ends. A kernel takes nvcc a
// minute; a busy machine may make it many.
inline constexpr double kToolLimitSeconds = 1800;

// For run_process: start there, and kill it after so many seconds. Its temporary files lie there,
// too: one that is killed leaves them.
ProcessOptions in_folder(const std::string& path, double limit_s = kToolLimitSeconds);

// Does a tool's message say that the machine failed it, rather than its input: no memory, no room
// on the disk, ended from outside? A crash of its own is none of the machine's.
bool blames_the_machine(std::string_view message);

// The line of a tool's messages that says what is wrong; one that blames the machine, if there is
// one.
std::string first_error(const std::string& messages);
// What to say of a tool that failed with such messages: the signal that ended it, if one did.
std::string what_went_wrong(const ProcessResult& ran, const std::string& messages);

}  // namespace tessera::link
