// SPDX-License-Identifier: Apache-2.0
#include "model_library/library.h"

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <dlfcn.h>
#include <sys/stat.h>

namespace tessera::model_library {
namespace {

// What a file was when it was loaded.
struct Version {
  dev_t device;
  ino_t inode;
  off_t bytes;
  timespec changed;
  bool is_same_file(const Version& other) const {
    return device == other.device && inode == other.inode;
  }
  bool operator==(const Version& other) const {
    return is_same_file(other) && bytes == other.bytes && changed.tv_sec == other.changed.tv_sec &&
           changed.tv_nsec == other.changed.tv_nsec;
  }
};

Version version_of(const std::string& path) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) {
    throw CallFailed(TESSERA_INVALID_ARGUMENT,
                     "cannot read `" + path + "`: " + std::strerror(errno));
  }
  return {now.st_dev, now.st_ino, now.st_size, now.st_mtim};
}

std::string name_of_version(const std::string& path, std::size_t number) {
  std::string name = path;
  for (std::size_t i = 0; i < number; ++i) name.insert(path.rfind('/') + 1, "./");
  return name;
}

bool is_loaded(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

// The loader gives what it has already for a name that it knows, also where the file is another one
// by now: a model that was compiled again would be the old one, in silence. So each version of a
// file gets a name of its own: `/folder/./model.so`, `/folder/././model.so`. What was written over
// a file that is loaded has no such name: the loader knows it by its inode, too.
std::string name_to_load(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<Version>> loaded;
  const Version now = version_of(path);
  const std::lock_guard lock(mutex);
  std::vector<Version>& versions = loaded[path];
  std::size_t found = versions.size();
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (versions[i] == now) found = i;
    if (versions[i].is_same_file(now) && !(versions[i] == now) &&
        is_loaded(name_of_version(path, i))) {
      throw CallFailed(TESSERA_INVALID_ARGUMENT,
                       "`" + path +
                           "` has changed since a model loaded it: close that model, or "
                           "write to a new file and move it there");
    }
  }
  if (found == versions.size()) versions.push_back(now);
  return name_of_version(path, found);
}

std::string why_not_loaded() {
  const char* why = ::dlerror();
  return why == nullptr ? "it is no shared library" : why;
}

}  // namespace

Library::Library(const std::string& path) {
  handle_ = ::dlopen(name_to_load(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    throw CallFailed(TESSERA_WRONG_ABI, "cannot load the library: " + why_not_loaded());
  }
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name, bool is_needed) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle_, name));
    if (function == nullptr && is_needed) missing = name;
  };
#define FUNCTION(name, is_needed) find(call_.name, "tessera_" #name, is_needed);
#include "model_library/functions.def"
#undef FUNCTION
  if (missing != nullptr) {
    ::dlclose(handle_);
    throw CallFailed(TESSERA_WRONG_ABI,
                     "`" + path + "` is no library of tessera: it has no `" + missing + "`");
  }
}

Library::~Library() { ::dlclose(handle_); }

void Library::check(std::int32_t status) const {
  if (status != TESSERA_OK) throw CallFailed(status, call_.last_error());
}

}  // namespace tessera::model_library
