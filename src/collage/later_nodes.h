// SPDX-License-Identifier: Apache-2.0
// Sets of nodes that a search has covered beyond the first one that it has not. A large candidate
// leaves as many of them as it has nodes, and what is covered next, between these, changes but few:
// so most of a set is shared with that which it was made of.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collage/index_set.h"

namespace tessera::collage {

class LaterNodes {
 public:
  LaterNodes() = default;

  std::size_t size() const { return many().size() + few_.size(); }
  bool empty() const { return size() == 0; }
  bool contains(Index index) const;
  // Equal sets have equal ones.
  std::uint64_t hash() const;

  // The same from `first` on, with `more`, ascending, none of which is in it or before `first`.
  LaterNodes from(Index first, std::span<const Index> more) const;

  // Goes through the members, which ascend.
  class Cursor {
   public:
    explicit Cursor(const LaterNodes& set) : many_(set.many()), few_(set.few_) {}
    bool is_at_end() const { return many_.empty() && few_.empty(); }
    Index operator*() const { return is_many() ? many_.front() : few_.front(); }
    void operator++() {
      std::span<const Index>& rest = is_many() ? many_ : few_;
      rest = rest.subspan(1);
    }

   private:
    bool is_many() const {
      return few_.empty() || (!many_.empty() && many_.front() < few_.front());
    }
    std::span<const Index> many_, few_;
  };
  friend bool operator==(const LaterNodes& a, const LaterNodes& b);
  // In the order of IndexSet.
  friend bool comes_before(const LaterNodes& a, const LaterNodes& b);

 private:
  struct Shared {
    std::vector<Index> members;
    std::vector<std::uint64_t> hashes;  // by place: of the members from there on
  };
  explicit LaterNodes(std::vector<Index> members);
  std::span<const Index> many() const;

  std::shared_ptr<const Shared> shared_;
  std::size_t begin_ = 0;   // of the shared ones, its first
  std::vector<Index> few_;  // its own, none of them shared
};

}  // namespace tessera::collage
