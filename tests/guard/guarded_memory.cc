// SPDX-License-Identifier: Apache-2.0
#include "tests/guard/guarded_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace tessera::guard {
namespace {

// It is of no use as a number, an index, a pointer or a size.
constexpr int kFilling = 0xA5;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
std::uint64_t round_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

bool is_filling(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte b) { return b == std::byte{kFilling}; });
}

}  // namespace

GuardedMemory::GuardedMemory(std::uint64_t size_bytes, std::uint64_t align_bytes, Place place)
    : size_bytes_(size_bytes) {
  if (size_bytes > kMostBytes) throw std::bad_alloc();
  align_bytes = std::max<std::uint64_t>(align_bytes, 1);
  if (place == Place::kHeap) {
    void* memory = nullptr;
    const std::size_t align = std::max<std::size_t>(align_bytes, sizeof(void*));
    if (::posix_memalign(&memory, align, size_bytes) != 0) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(memory);
    std::memset(data_, kFilling, size_bytes);
    return;
  }
  const std::uint64_t page = page_bytes();
  const std::uint64_t body = round_up(size_bytes, align_bytes);
  const std::uint64_t inner = std::max(round_up(body, page), page);
  mapping_bytes_ = inner + 2 * page;
  void* mapping = ::mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  if (::mprotect(mapping_ + page, inner, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(mapping_, mapping_bytes_);
    throw std::bad_alloc();
  }
  std::memset(mapping_ + page, kFilling, inner);
  data_ = mapping_ + page + (place == Place::kEnd ? inner - body : 0);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(other.mapping_bytes_),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(other.size_bytes_) {}

GuardedMemory::~GuardedMemory() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, mapping_bytes_);
  } else {
    std::free(data_);
  }
}

void GuardedMemory::make_read_only() {
  if (mapping_ == nullptr) return;
  ::mprotect(mapping_ + page_bytes(), mapping_bytes_ - 2 * page_bytes(), PROT_READ);
}

bool GuardedMemory::surroundings_are_intact() const {
  if (mapping_ == nullptr) return true;
  return is_filling(mapping_ + page_bytes(), data_) &&
         is_filling(data_ + size_bytes_, mapping_ + mapping_bytes_ - page_bytes());
}

}  // namespace tessera::guard
