// SPDX-License-Identifier: Apache-2.0
// Candidates whose functions are the same without making these: most of a large graph's are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collage/candidate.h"

namespace tessera::collage {

class Signatures {
 public:
  explicit Signatures(const DataflowGraph& graph);

  // Equal only for candidates of one spec whose functions are structurally equal and have the same
  // label. Functions that are equal may have different ones.
  std::vector<std::uint32_t> of(const Candidate& candidate);

 private:
  std::uint32_t code_of(const std::string& text);
  void add_part(const SubGraph& part, const SubGraph& whole, std::vector<std::uint32_t>& out);

  const DataflowGraph& graph_;
  std::map<std::string, std::uint32_t> codes_;
  std::vector<std::uint32_t> node_;  // by node: what it computes, and of which type
};

}  // namespace tessera::collage
