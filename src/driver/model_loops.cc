// SPDX-License-Identifier: Apache-2.0
#include "driver/model_loops.h"

namespace tessera::driver {
namespace {

std::vector<Location> mentions(const relay::Function& f, const std::string& global) {
  std::vector<Location> places;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::NodeId id(i);
    const auto* ref = f.as<relay::GlobalRef>(id);
    if (ref != nullptr && ref->name == global) places.push_back(f[id].location);
  }
  return places;
}

}  // namespace

std::vector<Location> model_loops(const Module& module) {
  std::vector<Location> loops;
  for (const auto& [loop, body] : module.functions) {
    if (mentions(body, loop).empty()) continue;
    for (const auto& [name, f] : module.functions) {
      if (name == loop) continue;
      const std::vector<Location> places = mentions(f, loop);
      loops.insert(loops.end(), places.begin(), places.end());
    }
  }
  return loops;
}

}  // namespace tessera::driver
