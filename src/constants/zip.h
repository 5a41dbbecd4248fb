// SPDX-License-Identifier: Apache-2.0
// The part of the ZIP format (with its 64-bit extension) that .npz files need; compression is
// zlib's. Our own container code because stored members must be mapped, not read: weights may lie
// in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "constants/tensor.h"
#include "support/files.h"

namespace tessera {

enum class ZipMethod : std::uint16_t { kStored = 0, kDeflated = 8 };

struct ZipMember {
  std::string name;
  std::shared_ptr<const Blob> content;  // a slice of the archive if stored
};

// All members in the order of the directory. Checks bounds, sizes and checksums; `at` is the file.
Result<std::vector<ZipMember>> read_zip(const std::shared_ptr<const Blob>& archive,
                                        const Location& at);

// Writes members one after the other. The same members give the same bytes: no time stamps.
class ZipWriter {
 public:
  explicit ZipWriter(FileWriter& out) : out_(out) {}
  // The content is header + data. Stored content starts at a multiple of 64 bytes.
  void add(const std::string& name, std::string_view header, std::span<const std::byte> data,
           ZipMethod method);
  // Writes the directory.
  void finish();

 private:
  struct Entry {
    std::string name;
    ZipMethod method = ZipMethod::kStored;
    std::uint32_t checksum = 0;
    std::uint64_t compressed = 0, size = 0, offset = 0;
  };
  void write_local_header(const Entry& entry);
  void write_central_header(const Entry& entry);
  FileWriter& out_;
  std::vector<Entry> entries_;
};

}  // namespace tessera
