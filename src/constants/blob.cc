// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

#include "constants/tensor.h"
#include "support/check.h"
#include "support/files.h"

namespace tessera {
namespace {

// Guards what blobs compute on demand. One for all: it is held for a pointer exchange only.
std::mutex& lazy_mutex() {
  static std::mutex mutex;
  return mutex;
}

// Room for any number type of the tensor's elements.
constexpr std::size_t kAlignment = 64;

// A mapped blob of this size gives its pages back when it has been hashed: a pool of weights would
// otherwise be wholly resident before anything is compiled.
constexpr std::uint64_t kLargeBytes = 4u << 20;

// Whole pages only; in a read-only mapping of a file the system fetches them again when touched.
void drop_pages(const Blob& blob, bool is_mapped) {
  if (!is_mapped || blob.bytes().empty()) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(blob.bytes().data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + blob.size_bytes()) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

struct AlignedDelete {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t(kAlignment)); }
};

}  // namespace

struct Blob::AlignedCopy {
  std::unique_ptr<std::byte[], AlignedDelete> bytes;
};

Blob::Blob(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : bytes_(bytes), owner_(std::move(owner)) {}

Blob::~Blob() = default;

std::shared_ptr<const Blob> Blob::copy_of(std::span<const std::byte> bytes) {
  return adopt(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

std::shared_ptr<const Blob> Blob::adopt(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> span(*owner);
  return std::make_shared<const Blob>(span, std::move(owner));
}

Result<std::shared_ptr<const Blob>> Blob::map_file(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) {
    return fail(error(Code::kFileNotFound, nullptr, "cannot read {}", file.error().text())
                    .with_remedy("check the path"));
  }
  const auto mapped = std::make_shared<const MappedFile>(std::move(*file));
  if (mapped->bytes().empty()) {
    return fail(error(Code::kFileEmpty, nullptr, "`{}` is empty", path)
                    .with_remedy("write the file again"));
  }
  auto blob = std::make_shared<Blob>(mapped->bytes(), mapped);
  blob->mapped_ = true;
  return std::shared_ptr<const Blob>(std::move(blob));
}

Result<std::shared_ptr<const Blob>> Blob::map_file(const std::string& path, std::uint64_t offset,
                                                   std::uint64_t size) {
  TESSERA_TRY(auto whole, map_file(path));
  if (offset > whole->size_bytes() || size > whole->size_bytes() - offset) {
    return fail(error(Code::kExternalData, nullptr,
                      "`{}` has {} bytes, but {} bytes at {} are due to be there", path,
                      whole->size_bytes(), size, offset));
  }
  return slice(std::move(whole), offset, size);
}

std::shared_ptr<const Blob> Blob::slice(std::shared_ptr<const Blob> whole, std::uint64_t offset,
                                        std::uint64_t size) {
  TESSERA_CHECK(offset <= whole->size_bytes() && size <= whole->size_bytes() - offset,
                "bytes {}..{} of a blob of {}", offset, offset + size, whole->size_bytes());
  const bool mapped = whole->mapped_;
  const auto bytes = whole->bytes_.subspan(offset, size);
  auto part = std::make_shared<Blob>(bytes, std::move(whole));
  part->mapped_ = mapped;
  return part;
}

const Hash128& Blob::hash() const {
  {
    const std::lock_guard lock(lazy_mutex());
    if (hash_) return *hash_;
  }
  auto computed = std::make_unique<Hash128>(hash_bytes(bytes_));
  if (size_bytes() >= kLargeBytes) drop_pages(*this, mapped_);
  const std::lock_guard lock(lazy_mutex());
  if (!hash_) hash_ = std::move(computed);
  return *hash_;
}

std::span<const std::byte> Blob::aligned_bytes(std::size_t align_bytes) const {
  TESSERA_CHECK(align_bytes <= kAlignment);
  if (reinterpret_cast<std::uintptr_t>(bytes_.data()) % align_bytes == 0) return bytes_;
  {
    const std::lock_guard lock(lazy_mutex());
    if (aligned_) return {aligned_->bytes.get(), bytes_.size()};
  }
  auto copy = std::make_unique<AlignedCopy>();
  copy->bytes.reset(new (std::align_val_t(kAlignment)) std::byte[bytes_.size()]);
  std::memcpy(copy->bytes.get(), bytes_.data(), bytes_.size());
  const std::lock_guard lock(lazy_mutex());
  if (!aligned_) aligned_ = std::move(copy);
  return {aligned_->bytes.get(), bytes_.size()};
}

void Blob::release_pages() const {
  {
    const std::lock_guard lock(lazy_mutex());
    aligned_.reset();
  }
  drop_pages(*this, mapped_);
}

}  // namespace tessera
