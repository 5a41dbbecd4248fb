// SPDX-License-Identifier: Apache-2.0
// For tests: the `tessera` command in a folder and an environment of its own.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/subprocess.h"

namespace tessera::e2e {

// Folder of the vendor libraries that scripts/install-deps.sh installed.
std::string vendor_folder();

class Command {
 public:
  // An empty folder; PATH of this process, HOME, TMPDIR and an empty object cache in the folder,
  // TESSERA_LIBRARY_PATH where the vendor libraries are.
  Command();

  const std::string& folder() const { return folder_.path(); }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string write(const std::string& name, const std::string& bytes) const;

  Command& set(const std::string& variable, const std::string& value);
  Command& unset(const std::string& variable);
  Command& unset_all();
  // Objects that other tests compiled are found, too; they stay in the build folder.
  Command& share_cache();

  // `tessera ARGUMENTS`, started in the folder.
  ProcessResult run(std::vector<std::string> arguments) const;
  // The same, killed with all that it has started after so many seconds.
  ProcessResult run_for(double seconds, std::vector<std::string> arguments) const;
  // The same, sent a signal, alone, as soon as `when` holds.
  ProcessResult run_until(const std::function<bool()>& when, int signal,
                          std::vector<std::string> arguments) const;
  // Does `tessera backends` call it available?
  bool has_backend(const std::string& name) const;
  // Another program in the same environment.
  ProcessResult run_program(const std::vector<std::string>& command) const;
  // A shell script that sees file systems which `mount`, a script as well, mounts for it alone;
  // nothing where the machine does not let us mount.
  std::optional<ProcessResult> run_with_mount(const std::string& mount,
                                              const std::string& script) const;
  // With a limit of the shell's: `-f 4` as in `ulimit -f 4`, no file of more kilobytes.
  ProcessResult run_with_limit(const std::string& limit, std::vector<std::string> arguments) const;

 private:
  ProcessOptions options() const;
  TempDir folder_;
  std::map<std::string, std::string> environment_;
};

// Runs a script of the source tree with Python; throws with its messages if it fails.
void run_python(const std::vector<std::string>& arguments);

// Names in a folder, sorted.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace tessera::e2e
