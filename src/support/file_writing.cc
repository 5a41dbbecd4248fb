// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/files.h"

namespace tessera {
namespace {

constexpr std::size_t kBufferBytes = 1 << 18;

FileError error_of(const std::string& path, int number) {
  return {path, std::error_code(number, std::generic_category())};
}
Unexpected<FileError> failure(const std::string& path, int number) {
  return {error_of(path, number)};
}

// Makes an empty file of a new name that starts with `stem`; the mode follows the umask.
FileResult<std::string> create_unique(const std::string& stem) {
  static std::atomic<unsigned> counter = 0;
  while (true) {
    std::string name = fmt::format("{}.{}.{}.tmp", stem, ::getpid(), counter++);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      ::close(fd);
      return name;
    }
    if (errno != EEXIST) return failure(name, errno);
  }
}

std::string temp_folder() {
  const char* root = std::getenv("TMPDIR");
  return root != nullptr && *root != '\0' ? root : "/tmp";
}

FileResult<void> copy_into(const std::string& from, const std::string& to) {
  const auto source = MappedFile::open(from);
  if (!source) return Unexpected{source.error()};
  auto out = FileWriter::open(to);
  if (!out) return Unexpected{std::move(out).error()};
  out->write(source->bytes());
  return out->finish();
}

// Takes the place of an empty file `name`, which it removes, and gets that name when it is
// complete: killed meanwhile, the program leaves nothing behind. Not all file systems have such
// files.
class NamelessFile {
 public:
  explicit NamelessFile(const std::string& name) {
    struct stat info {};
    if (::stat(name.c_str(), &info) != 0) return;
    const std::string folder = std::filesystem::path(name).parent_path();
    fd_ = ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd_ < 0) return;
    ::fchmod(fd_, info.st_mode & 07777);
    ::unlink(name.c_str());
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const { return fd_ >= 0; }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }
  bool link_to(const std::string& name) const {
    return ::linkat(AT_FDCWD, path().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

 private:
  int fd_ = -1;
};

}  // namespace

FileResult<AtomicFile> AtomicFile::create(const std::string& path) {
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return failure(path, errno);
  if (exists && S_ISDIR(info.st_mode)) return failure(path, EISDIR);
  const bool is_special = exists && !S_ISREG(info.st_mode);
  // Beside the target, so that the rename stays within one file system; a read-only target refuses.
  if (exists && ::access(path.c_str(), W_OK) != 0) return failure(path, errno);
  std::string target = path;
  char resolved[PATH_MAX];
  if (exists && !is_special && ::realpath(path.c_str(), resolved) != nullptr) target = resolved;
  const std::filesystem::path name(target);
  const std::string stem = is_special
                               ? temp_folder() + "/tessera"
                               : (name.parent_path() / ("." + name.filename().string())).string();
  auto temp = create_unique(stem);
  if (!temp) return Unexpected{FileError{path, temp.error().code}};
  if (exists && !is_special) ::chmod(temp->c_str(), info.st_mode & 07777);
  return AtomicFile(std::move(target), *std::move(temp), is_special);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temp_path_(std::exchange(other.temp_path_, {})),
      is_special_(other.is_special_) {}

AtomicFile::~AtomicFile() {
  if (!temp_path_.empty()) ::unlink(temp_path_.c_str());
}

FileResult<void> AtomicFile::commit() {
  if (is_special_) return copy_into(temp_path_, path_);
  if (::rename(temp_path_.c_str(), path_.c_str()) != 0) return failure(path_, errno);
  temp_path_.clear();
  return {};
}

FileResult<FileWriter> FileWriter::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return failure(path, errno);
  return FileWriter(path, fd);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      position_(other.position_),
      buffer_(std::move(other.buffer_)),
      problem_(other.problem_) {}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
}

void FileWriter::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty() && !problem_) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno != EINTR) problem_ = std::error_code(errno, std::generic_category());
    } else {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
}

void FileWriter::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void FileWriter::write(std::span<const std::byte> bytes) {
  position_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() >= kBufferBytes) return write_through(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void FileWriter::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void FileWriter::pad_to(std::uint64_t align_bytes) {
  const std::uint64_t missing = (align_bytes - position_ % align_bytes) % align_bytes;
  write(std::vector<std::byte>(missing));
}

FileResult<void> FileWriter::finish() {
  flush();
  if (::close(std::exchange(fd_, -1)) != 0 && !problem_) {
    problem_ = std::error_code(errno, std::generic_category());
  }
  if (problem_) return Unexpected{FileError{path_, problem_}};
  return {};
}

FileResult<void> write_atomically(const std::string& path,
                                  const std::function<FileResult<void>(FileWriter&)>& writer) {
  auto file = AtomicFile::create(path);
  if (!file) return Unexpected{std::move(file).error()};
  const NamelessFile nameless(file->temp_path());
  auto out = FileWriter::open(nameless ? nameless.path() : file->temp_path());
  if (!out) return Unexpected{FileError{path, out.error().code}};
  if (auto written = writer(*out); !written) return written;
  if (const auto finished = out->finish(); !finished) {
    return Unexpected{FileError{path, finished.error().code}};
  }
  if (nameless && !nameless.link_to(file->temp_path())) return failure(path, errno);
  return file->commit();
}

FileResult<void> write_atomically(const std::string& path, std::string_view text) {
  return write_atomically(path, [text](FileWriter& out) -> FileResult<void> {
    out.write(text);
    return {};
  });
}

}  // namespace tessera
