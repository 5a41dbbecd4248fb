// SPDX-License-Identifier: Apache-2.0
// Compiled objects by the hash of what they were made from. Any number of processes may use one
// folder at a time, and may be killed at any point: entries appear by rename, and carry a checksum
// that is verified when they are read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/hash.h"

namespace tessera::link {

class ObjectCache {
 public:
  // Keeps objects below `folder`; with an empty name it keeps nothing.
  explicit ObjectCache(std::string folder) : folder_(std::move(folder)) {}

  // $TESSERA_CACHE_DIR, $XDG_CACHE_HOME/tessera or ~/.cache/tessera; empty if none of them is set.
  static std::string default_folder();

  // Nothing if it is not there, or damaged.
  std::optional<std::string> find(const Hash128& key) const;
  // A failure (disk full, read-only folder) is no error: the object is just not kept.
  void store(const Hash128& key, std::string_view object) const;

 private:
  std::string path_of(const Hash128& key) const;
  std::string folder_;
};

}  // namespace tessera::link
