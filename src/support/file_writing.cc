// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>

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

// Makes something of a new name that starts with `stem`: `make` says whether it could, or sets
// errno.
FileResult<std::string> make_unique(const std::string& stem,
                                    const std::function<bool(const std::string&)>& make) {
  static std::atomic<unsigned> counter = 0;
  while (true) {
    std::string name = fmt::format("{}.{}.{}.tmp", stem, ::getpid(), counter++);
    if (make(name)) return name;
    if (errno != EEXIST) return failure(name, errno);
  }
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
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

// What a path leads to, and where a file is made that is to take its place.
struct Destination {
  std::string path;            // behind symbolic links
  std::string folder;          // of the same file system, so that a rename can do it
  std::optional<mode_t> mode;  // of the file that is there
  bool is_special = false;     // a device or pipe: not to be replaced
};

FileResult<Destination> find_destination(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return failure(path, errno);
    return Destination{path, folder_of(path), {}};
  }
  if (S_ISDIR(info.st_mode)) return failure(path, EISDIR);
  if (::access(path.c_str(), W_OK) != 0) return failure(path, errno);  // although it is replaced
  if (!S_ISREG(info.st_mode)) return Destination{path, temp_folder(), {}, true};
  char resolved[PATH_MAX];
  const std::string target = ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
  return Destination{target, folder_of(target), info.st_mode & 07777};
}

// A file on the way to its destination. It has no name until it is complete: killed meanwhile, the
// program leaves nothing behind. Not all file systems have such files; in others it has a temporary
// name.
class NewFile {
 public:
  static FileResult<NewFile> make(const Destination& to) {
    NewFile file;
    file.fd_ = ::open(to.folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    // Without /proc it can be neither opened by path nor linked.
    if (file.fd_ < 0 || ::access(file.path().c_str(), W_OK) != 0) return with_name(to);
    if (to.mode) ::fchmod(file.fd_, *to.mode);
    return file;
  }
  NewFile(NewFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), name_(std::exchange(other.name_, {})) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
    if (fd_ >= 0) ::close(fd_);
  }

  std::string path() const { return name_.empty() ? fmt::format("/proc/self/fd/{}", fd_) : name_; }

  FileResult<void> move_to(const Destination& to) {
    if (to.is_special) return copy_into(path(), to.path);
    if (name_.empty()) {
      if (link_as(to.path)) return {};
      auto name = errno == EEXIST ? make_unique(stem_in(to.folder),
                                                [&](const auto& tried) { return link_as(tried); })
                                  : failure(to.path, errno);
      if (!name) return move_copy_to(to);
      name_ = *std::move(name);
    }
    if (::rename(name_.c_str(), to.path.c_str()) != 0) return failure(to.path, errno);
    name_.clear();
    return {};
  }

 private:
  NewFile() = default;
  static FileResult<NewFile> with_name(const Destination& to) {
    NewFile file;
    auto name = make_unique(stem_in(to.folder), [&](const std::string& tried) {
      file.fd_ = ::open(tried.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      return file.fd_ >= 0;
    });
    if (!name) return Unexpected{name.error()};
    file.name_ = *std::move(name);
    if (to.mode) ::fchmod(file.fd_, *to.mode);
    return file;
  }
  // Whether a file without a name may be given one is told when it is tried: sandboxes and some
  // file systems let nobody. Where the folder is at fault, this fails for the same reason.
  FileResult<void> move_copy_to(const Destination& to) const {
    auto copy = with_name(to);
    if (!copy) return Unexpected{copy.error()};
    if (auto copied = copy_into(path(), copy->path()); !copied) return copied;
    return copy->move_to(to);
  }
  // As short as may be: what has room for the destination has room for this.
  static std::string stem_in(const std::string& folder) { return folder + "/.tessera"; }
  bool link_as(const std::string& name) const {
    return ::linkat(AT_FDCWD, path().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  int fd_ = -1;
  std::string name_;
};

}  // namespace

FileResult<void> check_writable(const std::string& path) {
  const auto to = find_destination(path);
  if (!to) return Unexpected{to.error()};
  const auto file = NewFile::make(*to);
  if (!file) return Unexpected{FileError{path, file.error().code}};
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
  const auto to = find_destination(path);
  if (!to) return Unexpected{to.error()};
  auto file = NewFile::make(*to);
  if (!file) return Unexpected{FileError{path, file.error().code}};
  auto out = FileWriter::open(file->path());
  if (!out) return Unexpected{FileError{path, out.error().code}};
  if (auto written = writer(*out); !written) return written;
  if (const auto finished = out->finish(); !finished) {
    return Unexpected{FileError{path, finished.error().code}};
  }
  if (auto moved = file->move_to(*to); !moved)
    return Unexpected{FileError{path, moved.error().code}};
  return {};
}

FileResult<void> write_atomically(const std::string& path, std::string_view text) {
  return write_atomically(path, [text](FileWriter& out) -> FileResult<void> {
    out.write(text);
    return {};
  });
}

}  // namespace tessera
