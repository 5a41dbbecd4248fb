// SPDX-License-Identifier: Apache-2.0
// Whether memory that nobody tells of changes still holds what it did, by a part of it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::python {

class Samples {
 public:
  // Addresses and sizes in bytes. The memory has to be there whenever `differing` is called.
  explicit Samples(const std::vector<std::pair<std::uintptr_t, std::uint64_t>>& blocks);

  // The indices of blocks that are not what they were. Of small blocks each byte is looked at, of
  // large ones some that are spread over them: what is written over all of one is seen.
  std::vector<std::int64_t> differing() const;

 private:
  struct Block {
    std::uintptr_t address;
    std::uint64_t bytes, digest;
  };
  std::vector<Block> blocks_;
};

}  // namespace tessera::python
