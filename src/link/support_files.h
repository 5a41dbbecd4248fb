// SPDX-License-Identifier: Apache-2.0
// What the command carries beside itself for the libraries that it makes: headers for emitted
// sources, and the archives that travel in every library. An installation and a build tree have the
// same layout:
//   bin/tessera   include/tessera/*.h   lib/tessera/libtessera_*.a
//   lib/tessera/include/runtime/program.h
#pragma once

#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "support/hash.h"

namespace tessera::link {

class SupportFiles {
 public:
  // Below `root`; empty: $TESSERA_ROOT, or the folder above that of the running program.
  static Result<SupportFiles> find(const std::string& root = {});

  std::vector<std::string> include_folders() const;
  // The runtime archive of this name, such as "onednn_runtime", as it was given to CMake.
  Result<std::string> archive(const std::string& name) const;
  // `tessera` itself: what processes are started for (driver/program_timing.h).
  Result<std::string> command() const;
  // A hash of the headers' content: an object depends on them.
  const Hash128& headers_hash() const { return headers_hash_; }

 private:
  std::string root_;
  Hash128 headers_hash_;
};

}  // namespace tessera::link
