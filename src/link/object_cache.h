// SPDX-License-Identifier: Apache-2.0
// Compiled objects by the hash of what they were made from. Any number of processes may use one
// folder at a time, and may be killed at any point: entries appear by rename, and carry a checksum
// of their key and bytes that is verified when they are read. What they hold becomes code, so they
// lie in a folder that nobody else can write to (support/private_folder.h).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "support/files.h"
#include "support/hash.h"

namespace tessera::link {

class ObjectCache {
 public:
  // Keeps objects below `folder`, of about `limit_bytes` in all (0: as many as come); with an empty
  // name it keeps nothing.
  explicit ObjectCache(std::string folder, std::uint64_t limit_bytes = default_limit_bytes())
      : folder_(std::move(folder)),
        limit_bytes_(limit_bytes),
        first_failure_(std::make_shared<FirstFailure>()) {}

  // $TESSERA_CACHE_DIR, $XDG_CACHE_HOME/tessera or ~/.cache/tessera; empty if none of them is set.
  static std::string default_folder();
  // $TESSERA_CACHE_BYTES, or 5 GB.
  static std::uint64_t default_limit_bytes();

  // Nothing if it is not there, damaged, or another key's.
  std::optional<std::string> find(const Hash128& key) const;
  // A failure (disk full, read-only folder, one that others may write to) is no error: the object
  // is just not kept, and first_failure() says why. Objects that nobody has asked for the longest
  // make room.
  void store(const Hash128& key, std::string_view object) const;
  // The first of this cache and its copies.
  std::optional<FileError> first_failure() const;
  const std::string& folder() const { return folder_; }

 private:
  struct FirstFailure {
    std::mutex mutex;
    std::optional<FileError> error;
  };
  // Nothing is read or written where this fails; the first failure is remembered.
  bool is_usable() const;
  void remember(const FileError& failure) const;
  FileResult<void> write(const Hash128& key, const std::string& path,
                         std::string_view object) const;
  std::string objects_folder() const { return folder_ + "/objects"; }
  std::string path_of(const Hash128& key) const;
  void make_room(const std::string& path) const;
  std::string folder_;
  std::uint64_t limit_bytes_;
  std::shared_ptr<FirstFailure> first_failure_;
};

}  // namespace tessera::link
