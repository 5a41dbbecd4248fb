// SPDX-License-Identifier: Apache-2.0
#include "support/files.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/termination.h"

namespace tessera {
namespace {

Unexpected<FileError> failure(std::string path, int number) {
  return {FileError{std::move(path), std::error_code(number, std::generic_category())}};
}

// Closes on scope exit.
struct Descriptor {
  int fd;
  explicit Descriptor(int n) : fd(n) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::string FileError::text() const { return "`" + path + "`: " + code.message(); }

FileResult<std::string> read_file(const std::string& path) {
  const Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.fd < 0) return failure(path, errno);
  std::string text;
  struct stat info {};
  if (::fstat(in.fd, &info) == 0 && S_ISREG(info.st_mode)) {
    text.reserve(static_cast<std::size_t>(info.st_size));
  }
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(in.fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(path, errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

FileResult<MappedFile> MappedFile::open(const std::string& path) {
  // A pipe that nobody writes to must not be waited for.
  const Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (in.fd < 0) return failure(path, errno);
  struct stat info {};
  if (::fstat(in.fd, &info) != 0) return failure(path, errno);
  if (S_ISDIR(info.st_mode)) return failure(path, EISDIR);
  if (!S_ISREG(info.st_mode)) return failure(path, EINVAL);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFile({});
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, in.fd, 0);
  if (at == MAP_FAILED) return failure(path, errno);
  return MappedFile({static_cast<const std::byte*>(at), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

FileResult<TempDir> TempDir::make(std::string_view prefix) {
  const char* root = std::getenv("TMPDIR");
  std::string path = root != nullptr && *root != '\0' ? root : "/tmp";
  path += "/" + std::string(prefix) + "XXXXXX";
  const Uninterrupted until_remembered;
  if (::mkdtemp(path.data()) == nullptr) return failure(path, errno);
  remember_folder(path);
  return TempDir(std::move(path));
}

std::string TempDir::keep() {
  forget_folder(path_);
  return std::exchange(path_, {});
}

TempDir::~TempDir() {
  if (path_.empty()) return;
  std::error_code ignored;  // what cannot be removed stays; there is nobody to tell
  std::filesystem::remove_all(path_, ignored);
  forget_folder(path_);
}

}  // namespace tessera
