// SPDX-License-Identifier: Apache-2.0
#include "samples.h"

#include <cstddef>
#include <cstring>

namespace tessera::python {
namespace {

constexpr std::uint64_t kLine = 64, kLines = 8;  // eight cache lines of a block
constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

std::uint64_t digest_of(std::uintptr_t address, std::uint64_t bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(address);
  std::uint64_t digest = bytes;
  const auto add = [&digest](const unsigned char* from, std::uint64_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, count);
    digest = (digest ^ word) * kOdd;
    digest ^= digest >> 32U;
  };
  const auto add_all = [&](const unsigned char* from, std::uint64_t count) {
    for (; count >= sizeof(std::uint64_t); count -= sizeof(std::uint64_t)) {
      add(from, sizeof(std::uint64_t));
      from += sizeof(std::uint64_t);
    }
    if (count != 0) add(from, count);
  };
  if (bytes <= kLine * kLines) {
    add_all(data, bytes);
  } else {
    // The first and the last line are among them.
    for (std::uint64_t i = 0; i < kLines; ++i) {
      add_all(data + (bytes - kLine) * i / (kLines - 1), kLine);
    }
  }
  return digest;
}

}  // namespace

Samples::Samples(const std::vector<std::pair<std::uintptr_t, std::uint64_t>>& blocks) {
  for (const auto& [address, bytes] : blocks) {
    blocks_.push_back({address, bytes, digest_of(address, bytes)});
  }
}

std::vector<std::int64_t> Samples::differing() const {
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (digest_of(block.address, block.bytes) != block.digest) {
      found.push_back(static_cast<std::int64_t>(i));
    }
  }
  return found;
}

}  // namespace tessera::python
