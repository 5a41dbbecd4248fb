// SPDX-License-Identifier: Apache-2.0
// The regions that annotations enclose (relay-spec 2.8).
#pragma once

#include <string>
#include <vector>

#include "byoc/annotations.h"
#include "diagnostics/diagnostic.h"

namespace tessera::byoc {

struct AnnotatedRegion {
  std::uint32_t id = 0;  // as it appears in names: not contiguous
  std::string target;
  std::vector<relay::NodeId> ins;   // compiler_begin calls; the index of one appears in names
  std::vector<relay::NodeId> outs;  // compiler_end calls
  relay::NodeId first_out;          // the one that is evaluated first; invalid without any
};

// Each begin opens a region with the next id, in order of evaluation. Calls, tuples and projections
// join the region of their first argument that is not closed, and the regions of the other
// arguments are merged into that one. An end belongs to the region of its argument.
class AnnotatedRegions {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // Annotations that enclose nothing, or contradict each other, are errors.
  static Result<AnnotatedRegions> find(const relay::Function& f);

  std::size_t size() const { return regions_.size(); }
  const AnnotatedRegion& operator[](std::size_t i) const { return regions_[i]; }
  // The number (not the id) of a node's region; kNone if it is in none.
  std::uint32_t of(relay::NodeId id) const { return of_[id.index()]; }
  // All live nodes in order of evaluation, arguments first.
  const std::vector<relay::NodeId>& order() const { return order_; }

 private:
  friend class RegionFinder;
  std::vector<AnnotatedRegion> regions_;  // by id, ascending
  std::vector<std::uint32_t> of_;         // by node
  std::vector<relay::NodeId> order_;
};

}  // namespace tessera::byoc
