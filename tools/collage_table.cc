// SPDX-License-Identifier: Apache-2.0
#include "tools/collage_table.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "driver/collage_text.h"
#include "driver/placement_table.h"

namespace tessera::tools {
namespace {

using Way = collage::PricedWay;

nlohmann::ordered_json way_json(const Way& way) {
  nlohmann::ordered_json json = {{"backend", way.who}};
  if (std::isfinite(way.seconds)) {
    json["time_us"] = way.seconds * 1e6;
  } else {
    json["why_not"] = way.why_not;
  }
  return json;
}

}  // namespace

std::string collage_table(const driver::CollageReport& report) {
  std::string text =
      fmt::format("{:<40} {:<12} {:>12}  {}\n", "operators", "chosen", "time", "otherwise");
  std::vector<std::string> lines;
  for (const collage::PlannedRegion& row : report.regions) {
    std::string operators = driver::operators_text(row.operators);
    if (operators.size() > 40) operators = operators.substr(0, 37) + "...";
    lines.push_back(fmt::format("{:<40} {:<12} {:>12}  {}", operators, row.chosen.who,
                                driver::time_text(row.chosen), driver::others_text(row.others)));
  }
  for (const auto& [line, count] : driver::counted(lines)) {
    text += line + (count > 1 ? fmt::format("  (x{})", count) : "") + "\n";
  }
  text += fmt::format("sum of the searched plan's regions: {}\n",
                      driver::microseconds(report.predicted_seconds));
  for (const driver::WholePlan& plan : report.plans) {
    text += fmt::format("{} {:<38} {}\n", plan.is_chosen ? "->" : "  ", plan.name,
                        driver::time_text(plan));
  }
  return text;
}

nlohmann::ordered_json collage_json(const driver::CollageReport& report) {
  auto regions = nlohmann::ordered_json::array(), plans = nlohmann::ordered_json::array();
  for (const collage::PlannedRegion& row : report.regions) {
    auto others = nlohmann::ordered_json::array();
    for (const Way& way : row.others) others.push_back(way_json(way));
    regions.push_back(
        {{"operators", row.operators}, {"chosen", way_json(row.chosen)}, {"others", others}});
  }
  for (const driver::WholePlan& plan : report.plans) {
    nlohmann::ordered_json json = {{"plan", plan.name}, {"chosen", plan.is_chosen}};
    if (plan.why_not.empty()) json["time_us"] = plan.seconds * 1e6;
    if (!plan.why_not.empty()) json["why_not"] = plan.why_not;
    if (plan.predicted_seconds > 0) json["predicted_us"] = plan.predicted_seconds * 1e6;
    plans.push_back(std::move(json));
  }
  return {{"candidates", report.candidates},
          {"programs", report.programs},
          {"measured", report.measured},
          {"failed", report.failed},
          {"predicted_us", report.predicted_seconds * 1e6},
          {"regions", regions},
          {"plans", plans}};
}

}  // namespace tessera::tools
