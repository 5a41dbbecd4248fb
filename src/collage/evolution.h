// SPDX-License-Identifier: Apache-2.0
// The second level of Collage: an evolutionary search over who computes which nodes, whose fitness
// is what the whole model takes (Jeon et al., "Collage: Seamless Integration of Deep Learning
// Backends with Automatic NodePlacement", PACT 2022, graph-level optimisation). It sees what sums
// of costs do not: layouts that stay inside of a region, caches, launches that overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace tessera::collage {

// By node of a function: the number of the back end that computes it; kNobody: generated code.
using NodePlacement = std::vector<std::int16_t>;
constexpr std::int16_t kNobody = -1;

// A candidate as a change: these nodes go to that back end.
struct Move {
  std::vector<std::uint32_t> nodes;
  std::int16_t who = kNobody;
  double weight = 1;  // how likely it is tried, of the sum of all
};

// Is told what whole models take, and asked for the next to be measured. Equal seeds and times give
// equal questions.
class Evolution {
 public:
  Evolution(std::vector<Move> moves, std::uint64_t seed);

  void tell(NodePlacement placement, double seconds);
  // One that it was neither told nor asked for: by crossing two of the fittest, and moves. Nothing
  // before it was told of any, or once all that it finds is known.
  std::optional<NodePlacement> ask();

 private:
  struct Member {
    NodePlacement placement;
    double seconds;
  };
  std::size_t below(std::size_t n);
  const NodePlacement& parent();
  NodePlacement crossed(const NodePlacement& a, const NodePlacement& b);
  void mutate(NodePlacement& placement);

  std::vector<Move> moves_;
  std::vector<double> sums_;  // of weights, up to each move
  std::mt19937_64 random_;
  std::vector<Member> fittest_;  // the fittest first
  std::set<NodePlacement> known_;
};

}  // namespace tessera::collage
