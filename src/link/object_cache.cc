// SPDX-License-Identifier: Apache-2.0
#include "link/object_cache.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "support/private_folder.h"

namespace tessera::link {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChecksumBytes = 32;
constexpr std::uint64_t kDefaultLimitBytes = 5'000'000'000;
// Keys are spread evenly over folders; each holds its share of the limit, so that storing an object
// looks at one folder only.
constexpr std::uint64_t kFolders = 256;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// An entry that is copied over another one does not become its object.
std::string checksum_of(const Hash128& key, std::string_view object) {
  return hash_text(key.hex() + hash_text(object).hex()).hex();
}

}  // namespace

std::string ObjectCache::default_folder() {
  if (std::string set = environment("TESSERA_CACHE_DIR"); !set.empty()) return set;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/tessera";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/tessera";
  return "";
}

std::uint64_t ObjectCache::default_limit_bytes() {
  const std::string set = environment("TESSERA_CACHE_BYTES");
  std::uint64_t bytes = 0;
  const auto [end, problem] = std::from_chars(set.data(), set.data() + set.size(), bytes);
  const bool is_number = problem == std::errc() && end == set.data() + set.size();
  return is_number ? bytes : kDefaultLimitBytes;
}

std::string ObjectCache::path_of(const Hash128& key) const {
  const std::string name = key.hex();
  return fmt::format("{}/{}/{}.o", objects_folder(), name.substr(0, 2), name.substr(2));
}

std::optional<std::string> ObjectCache::find(const Hash128& key) const {
  if (!is_usable()) return std::nullopt;
  auto entry = read_file(path_of(key));
  if (!entry || entry->size() < kChecksumBytes) return std::nullopt;
  const std::string checksum = entry->substr(entry->size() - kChecksumBytes);
  entry->resize(entry->size() - kChecksumBytes);
  if (checksum_of(key, *entry) != checksum) return std::nullopt;
  std::error_code ignored;  // in a read-only cache nothing is removed either
  fs::last_write_time(path_of(key), fs::file_time_type::clock::now(), ignored);
  return *std::move(entry);
}

bool ObjectCache::is_usable() const {
  if (folder_.empty()) return false;
  const auto used = use_private_folder(objects_folder());
  if (!used) remember(used.error());
  return used.has_value();
}

void ObjectCache::remember(const FileError& failure) const {
  const std::lock_guard lock(first_failure_->mutex);
  if (!first_failure_->error) first_failure_->error = failure;
}

void ObjectCache::store(const Hash128& key, std::string_view object) const {
  if (!is_usable()) return;
  const std::string path = path_of(key);
  if (auto written = write(key, path, object); !written) remember(written.error());
  if (limit_bytes_ > 0) make_room(path);
}

FileResult<void> ObjectCache::write(const Hash128& key, const std::string& path,
                                    std::string_view object) const {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) return Unexpected{FileError{folder.string(), problem}};
  return write_atomically(path, [&](FileWriter& file) -> FileResult<void> {
    file.write(object);
    file.write(checksum_of(key, object));
    return {};
  });
}

std::optional<FileError> ObjectCache::first_failure() const {
  const std::lock_guard lock(first_failure_->mutex);
  return first_failure_->error;
}

// Removes the files beside `path` that were not used for the longest, `path` excepted. Another
// process may do the same at the same time, or read one of them: it has the file open.
void ObjectCache::make_room(const std::string& path) const {
  struct Entry {
    fs::file_time_type used;
    std::string path;
    std::uint64_t bytes;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code gone;
  for (const fs::directory_entry& file :
       fs::directory_iterator(fs::path(path).parent_path(), gone)) {
    const Entry entry{file.last_write_time(gone), file.path().string(), file.file_size(gone)};
    if (gone) continue;
    total += entry.bytes;
    if (entry.path != path) entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit_bytes_ / kFolders) break;
    fs::remove(entry.path, gone);
    total -= entry.bytes;
  }
}

}  // namespace tessera::link
