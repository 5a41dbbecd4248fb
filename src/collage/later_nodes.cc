// SPDX-License-Identifier: Apache-2.0
#include "collage/later_nodes.h"

#include <algorithm>
#include <iterator>

#include "support/hash.h"

namespace tessera::collage {
namespace {

// With more of its own, all of a set's members become shared ones of a new list.
constexpr std::size_t kMostOfItsOwn = 64;

// Sums of these say nothing of the order in which members were added.
std::uint64_t hash_of(Index index) { return hash_combine(0x9e3779b97f4a7c15, index); }

bool is_in(std::span<const Index> ascending, Index index) {
  return std::binary_search(ascending.begin(), ascending.end(), index);
}

}  // namespace

LaterNodes::LaterNodes(std::vector<Index> members) {
  Shared shared{std::move(members), {}};
  shared.hashes.resize(shared.members.size() + 1, 0);
  for (std::size_t i = shared.members.size(); i-- > 0;) {
    shared.hashes[i] = shared.hashes[i + 1] + hash_of(shared.members[i]);
  }
  shared_ = std::make_shared<const Shared>(std::move(shared));
}

std::span<const Index> LaterNodes::many() const {
  if (shared_ == nullptr) return {};
  return std::span(shared_->members).subspan(begin_);
}

bool LaterNodes::contains(Index index) const { return is_in(many(), index) || is_in(few_, index); }

std::uint64_t LaterNodes::hash() const {
  std::uint64_t h = shared_ == nullptr ? 0 : shared_->hashes[begin_];
  for (const Index index : few_) h += hash_of(index);
  return h;
}

LaterNodes LaterNodes::from(Index first, std::span<const Index> more) const {
  LaterNodes out;
  out.shared_ = shared_;
  const std::span<const Index> all_shared = many();
  const auto begin = std::lower_bound(all_shared.begin(), all_shared.end(), first);
  out.begin_ = begin_ + static_cast<std::size_t>(begin - all_shared.begin());
  const auto few = std::lower_bound(few_.begin(), few_.end(), first);
  std::merge(few, few_.end(), more.begin(), more.end(), std::back_inserter(out.few_));
  if (out.few_.size() <= kMostOfItsOwn) return out;
  std::vector<Index> all;
  for (Cursor at(out); !at.is_at_end(); ++at) all.push_back(*at);
  return LaterNodes(std::move(all));
}

bool operator==(const LaterNodes& a, const LaterNodes& b) {
  if (a.shared_ == b.shared_ && a.begin_ == b.begin_) return a.few_ == b.few_;
  if (a.size() != b.size() || a.hash() != b.hash()) return false;
  LaterNodes::Cursor x(a), y(b);
  for (; !x.is_at_end(); ++x, ++y) {
    if (*x != *y) return false;
  }
  return true;
}

bool comes_before(const LaterNodes& a, const LaterNodes& b) {
  LaterNodes::Cursor x(a), y(b);
  while (!x.is_at_end() && !y.is_at_end() && *x == *y) ++x, ++y;
  if (x.is_at_end()) return false;
  return y.is_at_end() || *x < *y;
}

}  // namespace tessera::collage
