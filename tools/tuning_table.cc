// SPDX-License-Identifier: Apache-2.0
#include "tools/tuning_table.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::tools {
namespace {

// What is opaque in it is cut: records and JSON have it all.
std::string short_text(const std::string& configuration) {
  constexpr std::size_t kMost = 72;
  if (configuration.size() <= kMost) return configuration;
  return configuration.substr(0, kMost - 3) + "...";
}

// "4.63 +- 0.02 us sm90_64x64x128_c1x1_pingpong z1 auto dependent"
std::string time_text(const tune::Record& r) {
  return fmt::format("{:.2f} +- {:.2f} us  {}", r.time_us, r.spread_us,
                     short_text(r.configuration));
}

std::string first_text(const tune::TuneRow& row) {
  const auto& record = row.first_record;
  if (row.first.empty()) return "what the library takes first";
  if (!record) return fmt::format("not measured  {}", short_text(row.first));
  if (!record->failure.empty()) {
    return fmt::format("{}: {}", short_text(row.first), record->failure);
  }
  if (row.best && row.best->configuration == row.first) return "the same";
  return fmt::format("{} ({:.1f} % more time)", time_text(*record),
                     100 * (record->time_us / row.best->time_us - 1));
}

nlohmann::ordered_json record_json(const tune::Record& r) {
  nlohmann::ordered_json json = {{"configuration", r.configuration}};
  if (!r.failure.empty()) {
    json["failure"] = r.failure;
  } else {
    json["time_us"] = r.time_us;
    json["spread_us"] = r.spread_us;
  }
  return json;
}

}  // namespace

nlohmann::ordered_json tuning_json(const std::vector<tune::TuneRow>& rows) {
  auto all = nlohmann::ordered_json::array();
  for (const tune::TuneRow& row : rows) {
    nlohmann::ordered_json json = {{"product", row.title}, {"uses", row.uses}};
    if (row.best) json["best"] = record_json(*row.best);
    if (!row.first.empty()) {
      json["without_records"] =
          record_json(row.first_record.value_or(tune::Record{{}, row.first, 0, 0, "not measured"}));
    }
    json["measured"] = row.measured;
    json["failed"] = row.failed;
    json["known"] = row.known;
    if (!row.problem.empty()) json["problem"] = row.problem;
    all.push_back(std::move(json));
  }
  return all;
}

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
