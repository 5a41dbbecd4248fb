// SPDX-License-Identifier: Apache-2.0
#include "driver/weights_json.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "driver/placement_table.h"

namespace tessera::driver {

nlohmann::ordered_json weights_json(const std::vector<passes::WeightRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const passes::WeightRow& row : rows) {
    const double ratio = static_cast<double>(row.bytes) / static_cast<double>(row.bytes_before);
    json.push_back({{"node", row.name},
                    {"matrix", row.matrix},
                    {"form", row.stored_as()},
                    {"reason", row.reason},
                    {"bytes", row.bytes},
                    {"bytes_before", row.bytes_before},
                    {"ratio", std::round(ratio * 1e4) / 1e4},
                    {"error", row.error}});
  }
  return json;
}

std::string what_was_stored(const std::vector<passes::WeightRow>& rows) {
  std::uint64_t bytes = 0, before = 0;
  for (const passes::WeightRow& row : rows) bytes += row.bytes, before += row.bytes_before;
  const auto count =
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return !row.form.empty(); });
  return fmt::format("{} of {}, {} of {}", count, rows.size(), size_text(bytes), size_text(before));
}

}  // namespace tessera::driver
