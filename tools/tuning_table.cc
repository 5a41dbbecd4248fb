// SPDX-License-Identifier: Apache-2.0
#include "tools/tuning_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera::tools {
namespace {

// "4.63 +- 0.02 us sm90_64x64x128_c1x1_pingpong z1 auto dependent"
std::string time_text(const tune::Record& r) {
  return fmt::format("{:.2f} +- {:.2f} us  {}", r.time_us, r.spread_us, r.configuration);
}

std::string first_text(const tune::TuneRow& row) {
  const auto& record = row.first_record;
  if (!record) return fmt::format("not measured  {}", row.first);
  if (!record->failure.empty()) return fmt::format("{}: {}", row.first, record->failure);
  if (row.best && row.best->configuration == row.first) return "the same";
  return fmt::format("{} ({:.1f} % more time)", time_text(*record),
                     100 * (record->time_us / row.best->time_us - 1));
}

}  // namespace

std::string tuning_table(const std::vector<tune::TuneRow>& rows) {
  std::string text;
  for (const tune::TuneRow& row : rows) {
    text += fmt::format("{}, {} {}\n", row.title, row.uses, row.uses == 1 ? "use" : "uses");
    text += fmt::format("  best             {}\n",
                        row.best ? time_text(*row.best) : "no configuration that can be used");
    text += fmt::format("  without records  {}\n", first_text(row));
    text += fmt::format("  {} measured, {} failed, {} known before\n", row.measured, row.failed,
                        row.known);
    if (!row.problem.empty()) text += fmt::format("  {}\n", row.problem);
  }
  return text;
}

}  // namespace tessera::tools
