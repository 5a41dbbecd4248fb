// SPDX-License-Identifier: Apache-2.0
#include "link/object_cache.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "support/files.h"

namespace tessera::link {
namespace {

constexpr std::size_t kChecksumBytes = 32;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string ObjectCache::default_folder() {
  if (std::string set = environment("TESSERA_CACHE_DIR"); !set.empty()) return set;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/tessera";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/tessera";
  return "";
}

std::string ObjectCache::path_of(const Hash128& key) const {
  const std::string name = key.hex();
  return fmt::format("{}/objects/{}/{}.o", folder_, name.substr(0, 2), name.substr(2));
}

std::optional<std::string> ObjectCache::find(const Hash128& key) const {
  if (folder_.empty()) return std::nullopt;
  auto entry = read_file(path_of(key));
  if (!entry || entry->size() < kChecksumBytes) return std::nullopt;
  const std::string checksum = entry->substr(entry->size() - kChecksumBytes);
  entry->resize(entry->size() - kChecksumBytes);
  if (hash_text(*entry).hex() != checksum) return std::nullopt;
  return *std::move(entry);
}

void ObjectCache::store(const Hash128& key, std::string_view object) const {
  if (folder_.empty()) return;
  const std::string path = path_of(key);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  (void)write_atomically(path, [&](FileWriter& file) -> FileResult<void> {
    file.write(object);
    file.write(hash_text(object).hex());
    return {};
  });
}

}  // namespace tessera::link
