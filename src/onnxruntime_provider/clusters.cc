// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_provider/clusters.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera::onnxruntime_provider {

// A node's level is the number of times that the longest way to it changes between nodes that are
// wanted and others. What leaves a level by the other kind comes back on a higher one, so a level
// is a group.
std::vector<std::vector<std::size_t>> clusters(const std::vector<NodeValues>& nodes,
                                               const std::vector<bool>& is_wanted) {
  struct Made {
    std::size_t level;
    bool is_wanted;
  };
  std::map<std::string, Made> made;
  std::map<std::size_t, std::vector<std::size_t>> levels;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::size_t level = 0;
    for (const std::string& input : nodes[i].inputs) {
      const auto from = made.find(input);
      if (input.empty() || from == made.end()) continue;
      const std::size_t change = from->second.is_wanted == is_wanted[i] ? 0 : 1;
      level = std::max(level, from->second.level + change);
    }
    for (const std::string& output : nodes[i].outputs) made[output] = {level, is_wanted[i]};
    if (is_wanted[i]) levels[level].push_back(i);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [_, group] : levels) groups.push_back(std::move(group));
  return groups;
}

}  // namespace tessera::onnxruntime_provider
