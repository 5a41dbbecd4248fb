// SPDX-License-Identifier: Apache-2.0
// Files: read whole, mapped, written all or nothing; temporary folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "support/expected.h"

namespace tessera {

// What the system said about a path. Callers turn it into a diagnostic with their code and remedy.
struct FileError {
  std::string path;
  std::error_code code;
  std::string text() const;  // "`model.onnx`: No such file or directory"
};
template <class T>
using FileResult = Expected<T, FileError>;

FileResult<std::string> read_file(const std::string& path);

// A regular file as read-only memory, until the object dies. The file must not shrink meanwhile.
class MappedFile {
 public:
  static FileResult<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

// Buffered output to a file. The first failure is kept, and finish() reports it.
class FileWriter {
 public:
  static FileResult<FileWriter> open(const std::string& path);  // truncates
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Zeros up to the next multiple of `align_bytes`.
  void pad_to(std::uint64_t align_bytes);
  std::uint64_t position() const { return position_; }
  // Flushes and closes; to be called once.
  FileResult<void> finish();

 private:
  FileWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  void flush();
  void write_through(std::span<const std::byte> bytes);
  std::string path_;
  int fd_ = -1;
  std::uint64_t position_ = 0;
  std::vector<std::byte> buffer_;
  std::error_code problem_;
};

// Writes `path` completely or not at all: disk full, a failing writer or a kill leave what was
// there. A path that is a device or pipe gets the content copied; a symbolic link is followed.
FileResult<void> write_atomically(const std::string& path,
                                  const std::function<FileResult<void>(FileWriter&)>& writer);
FileResult<void> write_atomically(const std::string& path, std::string_view text);
// What write_atomically() would say before it calls its writer.
FileResult<void> check_writable(const std::string& path);

// A new folder below $TMPDIR or /tmp, removed with everything in it unless kept; by a signal that
// ends the process, too (support/termination.h).
class TempDir {
 public:
  static FileResult<TempDir> make(std::string_view prefix);
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Leaves the folder in place and gives its path.
  std::string keep();

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tessera
