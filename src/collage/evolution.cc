// SPDX-License-Identifier: Apache-2.0
#include "collage/evolution.h"

#include <algorithm>
#include <cmath>

namespace tessera::collage {
namespace {

constexpr std::size_t kPopulation = 8;
constexpr int kTries = 100;            // for one that is not known
constexpr std::size_t kMostMoves = 3;  // of a mutation
constexpr std::size_t kCrossings = 3;  // of ten children

}  // namespace

Evolution::Evolution(std::vector<Move> moves, std::uint64_t seed)
    : moves_(std::move(moves)), random_(seed) {
  double sum = 0;
  for (const Move& move : moves_) sums_.push_back(sum += move.weight);
}

void Evolution::tell(NodePlacement placement, double seconds) {
  known_.insert(placement);
  if (!std::isfinite(seconds)) return;
  const auto at = std::find_if(fittest_.begin(), fittest_.end(),
                               [&](const Member& m) { return seconds < m.seconds; });
  fittest_.insert(at, {std::move(placement), seconds});
  if (fittest_.size() > kPopulation) fittest_.pop_back();
}

std::optional<NodePlacement> Evolution::ask() {
  if (fittest_.empty() || moves_.empty()) return std::nullopt;
  for (int i = 0; i < kTries; ++i) {
    NodePlacement child = below(10) < kCrossings ? crossed(parent(), parent()) : parent();
    mutate(child);
    if (known_.insert(child).second) return child;
  }
  return std::nullopt;
}

// The distributions of the standard library are not the same everywhere.
std::size_t Evolution::below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

// The fitter of two.
const NodePlacement& Evolution::parent() {
  const std::size_t a = below(fittest_.size()), b = below(fittest_.size());
  return fittest_[std::min(a, b)].placement;
}

// Nodes are in topological order: a part of it is a part of the model.
NodePlacement Evolution::crossed(const NodePlacement& a, const NodePlacement& b) {
  const std::size_t x = below(a.size() + 1), y = below(a.size() + 1);
  NodePlacement child = a;
  std::copy(b.begin() + static_cast<std::ptrdiff_t>(std::min(x, y)),
            b.begin() + static_cast<std::ptrdiff_t>(std::max(x, y)),
            child.begin() + static_cast<std::ptrdiff_t>(std::min(x, y)));
  return child;
}

void Evolution::mutate(NodePlacement& placement) {
  const std::size_t count = 1 + below(kMostMoves);
  for (std::size_t i = 0; i < count; ++i) {
    const double at = std::ldexp(static_cast<double>(random_() >> 11), -53) * sums_.back();
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), at);
    const std::size_t m =
        std::min(static_cast<std::size_t>(found - sums_.begin()), moves_.size() - 1);
    for (const std::uint32_t node : moves_[m].nodes) placement[node] = moves_[m].who;
  }
}

}  // namespace tessera::collage
