// SPDX-License-Identifier: Apache-2.0
#include "link/load_library.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::link {
namespace {

Unexpected<Diagnostics> cannot_load(const std::string& why) {
  return fail(error(Code::kToolFailed, nullptr, "the compiled kernels cannot be loaded: {}", why));
}

// A path to `fd` that no other call gives: the loader takes equal names for equal libraries, and
// numbers of files come again. The spelling counts in zeros and ones.
std::string unique_path(int fd) {
  static std::atomic<std::uint32_t> counter = 0;
  std::string path = "/proc/self/";
  for (std::uint32_t n = ++counter; n != 0; n /= 2) path += n % 2 == 1 ? "./" : "/";
  return fmt::format("{}fd/{}", path, fd);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<LoadedLibrary>> LoadedLibrary::load(std::string_view image) {
  const int fd = ::memfd_create("tessera-kernels", MFD_CLOEXEC);
  if (fd < 0 || !write_all(fd, image)) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return cannot_load(why);
  }
  void* handle = ::dlopen(unique_path(fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string why = handle == nullptr ? ::dlerror() : "";
  ::close(fd);  // the mapping stays
  if (handle == nullptr) return cannot_load(why);
  return std::shared_ptr<LoadedLibrary>(new LoadedLibrary(handle));
}

LoadedLibrary::~LoadedLibrary() { ::dlclose(handle_); }

void* LoadedLibrary::symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace tessera::link
