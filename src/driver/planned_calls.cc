// SPDX-License-Identifier: Apache-2.0
#include "driver/planned_calls.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "diagnostics/places.h"

namespace tessera::driver {
namespace {

// Names of nodes of the model, each once, in order.
void add_nodes(const std::vector<Location>& sources, std::vector<std::string>& nodes,
               std::set<std::string>& seen) {
  for (const Location& at : sources) {
    for (std::string& name : nodes_of_model(at)) {
      if (seen.insert(name).second) nodes.push_back(std::move(name));
    }
  }
}

// What the region takes on the back end; none where that was not measured.
std::optional<double> seconds_of(const collage::PlannedRegion& region, const std::string& backend) {
  const auto is_by = [&](const collage::PricedWay& way) {
    return way.who == backend && std::isfinite(way.seconds);
  };
  if (is_by(region.chosen)) return region.chosen.seconds;
  const auto found = std::find_if(region.others.begin(), region.others.end(), is_by);
  if (found == region.others.end()) return std::nullopt;
  return found->seconds;
}

class Matching {
 public:
  explicit Matching(const CompileReport& report) {
    for (const PlacementRow& row : report.placement) add(row);
    if (!report.collage) return;
    for (const collage::PlannedRegion& region : report.collage->regions) add(region);
    for (auto& [symbol, calls] : calls_) set_seconds(symbol, calls);
  }

  std::map<std::string, PlannedCalls> take() { return std::move(calls_); }

 private:
  void add(const PlacementRow& row) {
    std::set<std::string>& seen = seen_[row.region];
    std::vector<std::string>& nodes = calls_[row.region].nodes;
    const std::size_t known = nodes.size();
    add_nodes(row.sources, nodes, seen);
    for (std::size_t i = known; i < nodes.size(); ++i) symbols_[nodes[i]].insert(row.region);
    backends_[row.region] = row.backend;
  }

  void add(const collage::PlannedRegion& region) {
    std::vector<std::string> nodes;
    std::set<std::string> seen;
    add_nodes(region.sources, nodes, seen);
    if (nodes.empty()) return;
    std::string only;
    for (const std::string& symbol : symbols_[nodes.front()]) {
      const bool has_all = std::all_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
        return symbols_[node].contains(symbol);
      });
      if (!has_all) continue;
      if (!only.empty()) return;  // it may be a part of either
      only = symbol;
    }
    if (only.empty()) return;
    calls_[only].regions.push_back(&region);
    covered_[only].insert(nodes.begin(), nodes.end());
  }

  void set_seconds(const std::string& symbol, PlannedCalls& calls) {
    if (calls.regions.empty() || covered_[symbol].size() != calls.nodes.size()) return;
    double sum = 0;
    for (const collage::PlannedRegion* region : calls.regions) {
      const auto seconds = seconds_of(*region, backends_[symbol]);
      if (!seconds) return;
      sum += *seconds;
    }
    calls.seconds = sum;
  }

  std::map<std::string, PlannedCalls> calls_;
  std::map<std::string, std::string> backends_;           // by symbol
  std::map<std::string, std::set<std::string>> seen_;     // nodes by symbol
  std::map<std::string, std::set<std::string>> symbols_;  // by node
  std::map<std::string, std::set<std::string>> covered_;  // nodes of regions, by symbol
};

}  // namespace

std::map<std::string, PlannedCalls> planned_calls(const CompileReport& report) {
  return Matching(report).take();
}

}  // namespace tessera::driver
