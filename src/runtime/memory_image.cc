// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_image.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_EXEC  // since Linux 6.3; older ones do not know it, and need none
#define MFD_EXEC 0x0010U
#endif

namespace tessera::runtime {
namespace {

constexpr int kOpen = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;
constexpr const char* kDescriptors = "/proc/self/fd/";

// An image that this process has open is known by the name of its memory file, whichever model's
// library opened it: each of them has a runtime of its own, and they share nothing else.
struct Loaded {
  char target[PATH_MAX];  // what the link of its descriptor says
  char path[PATH_MAX] = "";
};

int look(dl_phdr_info* info, std::size_t, void* data) {
  auto& loaded = *static_cast<Loaded*>(data);
  if (std::strncmp(info->dlpi_name, kDescriptors, std::strlen(kDescriptors)) != 0) return 0;
  char target[PATH_MAX];
  const ssize_t length = readlink(info->dlpi_name, target, sizeof target - 1);
  if (length <= 0) return 0;
  target[length] = '\0';
  if (std::strcmp(target, loaded.target) != 0) return 0;
  std::snprintf(loaded.path, sizeof loaded.path, "%s", info->dlpi_name);
  return 1;
}

void* find_open(const char* name) {
  Loaded loaded;
  std::snprintf(loaded.target, sizeof loaded.target, "/memfd:%s (deleted)", name);
  if (dl_iterate_phdr(look, &loaded) == 0) return nullptr;
  return dlopen(loaded.path, kOpen | RTLD_NOLOAD);
}

int make_file(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int file = memfd_create(name, kFlags | MFD_EXEC);
  return file >= 0 || errno != EINVAL ? file : memfd_create(name, kFlags);
}

bool write_all(int file, const void* data, std::uint64_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(file, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<std::uint64_t>(written);
  }
  return true;
}

bool unpack_into(int file, const MemoryImage& image) {
  if (ftruncate(file, static_cast<off_t>(image.bytes)) != 0) return false;
  void* out = mmap(nullptr, image.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (out == MAP_FAILED) return false;
  const bool complete = image.unpack(image.data, image.data_bytes, out, image.bytes) == 0;
  if (!complete) errno = EBADMSG;
  munmap(out, image.bytes);
  return complete;
}

bool fill(int file, const MemoryImage& image) {
  return image.unpack != nullptr ? unpack_into(file, image)
                                 : write_all(file, image.data, image.bytes);
}

}  // namespace

void* open_image(const MemoryImage& image, char (&failure)[256]) {
  char name[128], path[64];
  std::snprintf(name, sizeof name, "tessera-%s", image.hash);
  if (void* handle = find_open(name)) return handle;
  const int file = make_file(name);
  const bool complete = file >= 0 && fill(file, image);
  if (!complete) {
    std::snprintf(failure, sizeof failure,
                  " (the one inside cannot be put into a file in memory: %s)",
                  std::strerror(errno));
    if (file >= 0) close(file);
    return nullptr;
  }
  fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  std::snprintf(path, sizeof path, "%s%d", kDescriptors, file);
  void* handle = dlopen(path, kOpen);
  if (handle != nullptr) return handle;  // the file stays open: it is how others find the image
  std::snprintf(failure, sizeof failure, " (the one inside cannot be opened: %s)", dlerror());
  close(file);
  return nullptr;
}

}  // namespace tessera::runtime
