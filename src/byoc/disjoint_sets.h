// SPDX-License-Identifier: Apache-2.0
// Sets of numbers that only ever grow together.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace tessera::byoc {

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count = 0) : parent_(count), size_(count, 1) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  // Makes a new set of one; returns it.
  std::uint32_t add() {
    parent_.push_back(static_cast<std::uint32_t>(parent_.size()));
    size_.push_back(1);
    return parent_.back();
  }
  // The number that stands for the set of `x`.
  std::uint32_t find(std::uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  // Joins two sets; returns what stands for both.
  std::uint32_t join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return a;
    if (size_[a] < size_[b]) std::swap(a, b);
    parent_[b] = a;
    size_[a] += size_[b];
    return a;
  }

 private:
  std::vector<std::uint32_t> parent_, size_;
};

}  // namespace tessera::byoc
