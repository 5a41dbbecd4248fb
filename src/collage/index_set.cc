// SPDX-License-Identifier: Apache-2.0
#include "collage/index_set.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "support/check.h"
#include "support/hash.h"

namespace tessera::collage {
namespace {

// So few are looked up among so many: walking through all of them takes longer.
bool are_looked_up(const IndexSet& few, const IndexSet& many) {
  constexpr std::size_t kTimes = 16;
  return few.count() < many.count() / kTimes;
}

}  // namespace

IndexSet::IndexSet(std::size_t size, std::vector<Index> members) {
  auto made = try_make(size, std::move(members));
  TESSERA_CHECK(made.has_value(), "an index is not below {} or occurs twice", size);
  *this = std::move(*made);
}

std::optional<IndexSet> IndexSet::try_make(std::size_t size, std::vector<Index> members) {
  std::sort(members.begin(), members.end());
  const bool repeats = std::adjacent_find(members.begin(), members.end()) != members.end();
  if (repeats || (!members.empty() && members.back() >= size)) return std::nullopt;
  IndexSet out(size);
  out.members_ = std::move(members);
  return out;
}

bool IndexSet::contains(Index index) const {
  return std::binary_search(members_.begin(), members_.end(), index);
}

std::size_t IndexSet::first_outside() const {
  std::size_t i = 0;
  while (i < members_.size() && members_[i] == i) ++i;
  return i;
}

bool IndexSet::is_disjoint_from(const IndexSet& other) const {
  if (are_looked_up(other, *this)) return other.is_disjoint_from(*this);
  if (are_looked_up(*this, other)) {
    return std::none_of(begin(), end(), [&](Index index) { return other.contains(index); });
  }
  auto a = members_.begin(), b = other.members_.begin();
  while (a != members_.end() && b != other.members_.end()) {
    if (*a == *b) return false;
    *a < *b ? ++a : ++b;
  }
  return true;
}

bool IndexSet::is_subset_of(const IndexSet& other) const {
  if (are_looked_up(*this, other)) {
    return std::all_of(begin(), end(), [&](Index index) { return other.contains(index); });
  }
  return std::includes(other.members_.begin(), other.members_.end(), members_.begin(),
                       members_.end());
}

void IndexSet::add(Index index) {
  TESSERA_CHECK(index < size_, "index {} is not below {}", index, size_);
  const auto at = std::lower_bound(members_.begin(), members_.end(), index);
  if (at == members_.end() || *at != index) members_.insert(at, index);
}

IndexSet operator|(const IndexSet& a, const IndexSet& b) {
  IndexSet out(a.size_);
  out.members_.reserve(a.count() + b.count());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out.members_));
  return out;
}

IndexSet operator&(const IndexSet& a, const IndexSet& b) {
  if (are_looked_up(b, a)) return b & a;
  IndexSet out(a.size_);
  if (are_looked_up(a, b)) {
    std::copy_if(a.begin(), a.end(), std::back_inserter(out.members_),
                 [&](Index index) { return b.contains(index); });
    return out;
  }
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out.members_));
  return out;
}

IndexSet operator-(const IndexSet& a, const IndexSet& b) {
  IndexSet out(a.size_);
  if (are_looked_up(a, b)) {
    std::copy_if(a.begin(), a.end(), std::back_inserter(out.members_),
                 [&](Index index) { return !b.contains(index); });
    return out;
  }
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out.members_));
  return out;
}

IndexSet IndexSet::substitute(std::span<const Index> by, std::size_t size) const {
  std::vector<Index> members;
  members.reserve(count());
  for (const Index index : members_) members.push_back(by[index]);
  return IndexSet(size, std::move(members));
}

bool comes_before(std::span<const Index> a, std::span<const Index> b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end()) return false;
  return y == b.end() || *x < *y;
}

bool operator<(const IndexSet& a, const IndexSet& b) {
  return comes_before(a.members_, b.members_);
}

std::uint64_t IndexSet::hash() const {
  std::uint64_t h = size_;
  for (const Index index : members_) h = hash_combine(h, index);
  return h;
}

std::string to_string(const IndexSet& set) {
  std::string out;
  const auto members = set.members();
  for (std::size_t i = 0; i < members.size();) {
    std::size_t end = i + 1;
    while (end < members.size() && members[end] == members[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    if (!out.empty()) out += ',';
    out += end - i < 3 ? fmt::format("{}", members[i])
                       : fmt::format("{}..{}", members[i], members[end - 1]);
    i = end;
  }
  return "{" + out + "}";
}

}  // namespace tessera::collage
