// SPDX-License-Identifier: Apache-2.0
// Memory whose neighbourhood notices who leaves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::guard {

// Where a block lies. At a page that nobody may touch, with its end or with its begin; or in the
// heap, where AddressSanitizer watches it.
enum class Place { kEnd, kBegin, kHeap };

class GuardedMemory {
 public:
  // `align_bytes` is a power of two, of a page at most; where a block ends at a page, up to
  // align_bytes - 1 bytes lie between, which are watched as the other surroundings are. Throws
  // std::bad_alloc.
  GuardedMemory(std::uint64_t size_bytes, std::uint64_t align_bytes, Place place);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory();

  std::byte* data() const { return data_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  std::span<std::byte> bytes() const { return {data_, size_bytes_}; }
  // From here on a write faults. Without effect in the heap.
  void make_read_only();
  // Has nobody written what lies around it on its own pages?
  bool surroundings_are_intact() const;

 private:
  std::byte* mapping_ = nullptr;  // guard page, pages of the block, guard page
  std::uint64_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace tessera::guard
