// SPDX-License-Identifier: Apache-2.0
#include "driver/collage_text.h"

#include <cmath>

#include <fmt/format.h>

namespace tessera::driver {

std::string microseconds(double seconds) { return fmt::format("{:.1f} us", seconds * 1e6); }

std::string way_text(const collage::PricedWay& way) {
  return std::isfinite(way.seconds) ? fmt::format("{} {}", way.who, microseconds(way.seconds))
                                    : fmt::format("{}: {}", way.who, way.why_not);
}

std::string time_text(const collage::PricedWay& way) {
  return std::isfinite(way.seconds) ? microseconds(way.seconds) : "not by itself";
}

std::string others_text(const std::vector<collage::PricedWay>& others) {
  std::string text;
  for (const collage::PricedWay& way : others) text += (text.empty() ? "" : "; ") + way_text(way);
  return text.empty() ? "nobody else was asked for just these" : text;
}

std::string time_text(const WholePlan& plan) {
  if (!plan.why_not.empty()) return plan.why_not;
  if (plan.seconds <= 0) return "not timed: no other plan differs";
  const std::string time = microseconds(plan.seconds);
  if (plan.predicted_seconds <= 0) return time;
  return fmt::format("{}, sum of its regions {} ({:+.0f} %)", time,
                     microseconds(plan.predicted_seconds),
                     100 * (plan.predicted_seconds / plan.seconds - 1));
}

}  // namespace tessera::driver
