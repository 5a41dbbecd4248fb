// SPDX-License-Identifier: Apache-2.0
// From matches to function literals: which matches of a pattern become groups, and what is made of
// them (relay-spec 2.5).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "relay/patterns/matcher.h"

namespace tessera::relay {

// One match as a function: what it computes and what it reads, as indices into the graph.
struct PatternGroup {
  std::uint32_t root = 0;
  int number = 0;                     // g of the parameters' names `FunctionVar_<g>_<k>`
  std::vector<std::uint32_t> inputs;  // parameters, in the order of the pattern
  std::vector<std::uint32_t> inside;  // in evaluation order, the root last; embedded constants too
  std::string name;                   // "nn.dense_add_": what it computes, in evaluation order
  bool reads_own_part = false;        // an input matched a call or tuple of the pattern as well
  Match match;
};

// What the matcher's last match makes, whether or not it may stand beside other groups.
PatternGroup form_group(const Matcher& matcher, int number);

// The group with more and more of what follows it: element by element on values of its
// result's shape, with one value at the end that all ways from the root lead to. Nothing that
// `is_free` denies is taken, and no more than `most` operators. Constants of one element are
// inside.
std::vector<PatternGroup> grown_groups(const IndexedGraph& graph, const PatternGroup& group,
                                       std::size_t most,
                                       const std::function<bool(NodeId)>& is_free);

// A function that nobody calls: it matches, but there is nothing to put in its place.
bool is_function_pattern(const Pattern& pattern);

// All groups of one pattern, roots from the last to the first.
class PatternGrouper {
 public:
  // Says of a root why it is no group, or "" for one that is.
  using Observer = std::function<void(std::uint32_t root, const std::string& why_not)>;

  PatternGrouper(const IndexedGraph& graph, const Pattern& pattern, const ConstantPool* pool,
                 Observer observer = {});
  std::vector<PatternGroup> run();

 private:
  void skip_partitioned();
  void try_root(std::uint32_t root);
  std::string why_rejected(const PatternGroup& group) const;

  const IndexedGraph& graph_;
  const Function& f_;
  Matcher matcher_;
  Observer observer_;
  std::vector<bool> skipped_;  // by index: inside functions that are groups already
  std::vector<bool> claimed_;  // by index
  std::vector<PatternGroup> groups_;
  int next_number_ = 0;
};

// The group as a function of its own: parameters and result have the types of the values. `attrs`
// beside `PartitionedFromPattern`.
Function make_function(const IndexedGraph& graph, const PatternGroup& group, Attrs attrs);

// The function with a call of a literal at the root of each group. What is inside a group and read
// by others too stays where it is as well.
Function partition(const IndexedGraph& graph, std::span<const PatternGroup> groups,
                   const Attrs& attrs);

}  // namespace tessera::relay
