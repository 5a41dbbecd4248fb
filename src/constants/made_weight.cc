// SPDX-License-Identifier: Apache-2.0
#include "constants/made_weight.h"

#include <utility>

#include "support/files.h"

namespace tessera {
namespace {

// A file for each of a model's small weights would cost more than their memory.
constexpr std::size_t kLargeBytes = 4u << 20;

// Null where it cannot be written. The file loses its name with the folder; its bytes stay as long
// as they are mapped.
std::shared_ptr<const Blob> in_a_file(const std::vector<std::byte>& bytes) {
  const auto folder = TempDir::make("tessera-weight-");
  if (!folder) return nullptr;
  const std::string path = folder->file("bytes");
  auto file = FileWriter::open(path);
  if (!file) return nullptr;
  file->write(bytes);
  if (!file->finish()) return nullptr;
  auto mapped = Blob::map_file(path);
  return mapped ? *std::move(mapped) : nullptr;
}

}  // namespace

std::shared_ptr<const Blob> made_weight(std::vector<std::byte> bytes) {
  auto blob = bytes.size() < kLargeBytes ? nullptr : in_a_file(bytes);
  return blob != nullptr ? blob : Blob::adopt(std::move(bytes));
}

}  // namespace tessera
