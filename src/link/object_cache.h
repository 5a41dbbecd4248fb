// SPDX-License-Identifier: Apache-2.0
// Compiled objects by the hash of what they were made from. Any number of processes may use one
// folder at a time, and may be killed at any point: entries appear by rename, and carry a checksum
// that is verified when they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/hash.h"

namespace tessera::link {

class ObjectCache {
 public:
  // Keeps objects below `folder`, of about `limit_bytes` in all (0: as many as come); with an empty
  // name it keeps nothing.
  explicit ObjectCache(std::string folder, std::uint64_t limit_bytes = default_limit_bytes())
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

  // $TESSERA_CACHE_DIR, $XDG_CACHE_HOME/tessera or ~/.cache/tessera; empty if none of them is set.
  static std::string default_folder();
  // $TESSERA_CACHE_BYTES, or 5 GB.
  static std::uint64_t default_limit_bytes();

  // Nothing if it is not there, or damaged.
  std::optional<std::string> find(const Hash128& key) const;
  // A failure (disk full, read-only folder) is no error: the object is just not kept. Objects that
  // nobody has asked for the longest make room.
  void store(const Hash128& key, std::string_view object) const;

 private:
  std::string path_of(const Hash128& key) const;
  void make_room(const std::string& path) const;
  std::string folder_;
  std::uint64_t limit_bytes_;
};

}  // namespace tessera::link
