// SPDX-License-Identifier: Apache-2.0
// Sets of indices below a fixed size: of nodes in the post-DFS view of a function, or of candidates
// in a list (relay-spec 9.2). Members are kept sorted, since sets are small beside what they are
// taken from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::collage {

using Index = std::uint32_t;

class IndexSet {
 public:
  IndexSet() = default;
  explicit IndexSet(std::size_t size) : size_(size) {}
  // Members in any order, all below `size`, none twice: see try_make for lists that users give.
  IndexSet(std::size_t size, std::vector<Index> members);
  // Nothing where a member is out of range or occurs twice.
  static std::optional<IndexSet> try_make(std::size_t size, std::vector<Index> members);

  std::size_t size() const { return size_; }  // of what indices count, not of the set
  std::size_t count() const { return members_.size(); }
  bool empty() const { return members_.empty(); }
  // Ascending.
  std::span<const Index> members() const { return members_; }
  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }

  bool contains(Index index) const;
  // The first and the last member, and the first index that is none; `size()` where there is none.
  std::size_t first_inside() const { return empty() ? size_ : members_.front(); }
  std::size_t last_inside() const { return empty() ? size_ : members_.back(); }
  std::size_t first_outside() const;

  bool is_disjoint_from(const IndexSet& other) const;
  bool intersects(const IndexSet& other) const { return !is_disjoint_from(other); }
  bool is_subset_of(const IndexSet& other) const;  // equal sets are subsets

  void add(Index index);
  friend IndexSet operator|(const IndexSet& a, const IndexSet& b);
  friend IndexSet operator&(const IndexSet& a, const IndexSet& b);
  friend IndexSet operator-(const IndexSet& a, const IndexSet& b);
  // Each member replaced; `by` gives different indices below `size` for different members.
  IndexSet substitute(std::span<const Index> by, std::size_t size) const;

  friend bool operator==(const IndexSet& a, const IndexSet& b) = default;
  // At the smallest index where they differ, the one that has it is less: {0} < {1}, {0,1} < {0}.
  friend bool operator<(const IndexSet& a, const IndexSet& b);
  std::uint64_t hash() const;

 private:
  std::size_t size_ = 0;
  std::vector<Index> members_;
};

// Whether the set of ascending indices `a` is less than `b`, in the order of IndexSet.
bool comes_before(std::span<const Index> a, std::span<const Index> b);

// `{0,2..5}`: three or more in a row are a range.
std::string to_string(const IndexSet& set);

}  // namespace tessera::collage
