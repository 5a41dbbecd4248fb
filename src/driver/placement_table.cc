// SPDX-License-Identifier: Apache-2.0
#include "driver/placement_table.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "support/visible_text.h"

namespace tessera::driver {
namespace {

std::string summary(const std::vector<PlacementRow>& rows) {
  std::map<std::string, std::pair<int, std::size_t>> by_backend;  // regions, operators
  std::size_t all = 0;
  for (const PlacementRow& row : rows) {
    auto& [regions, operators] = by_backend[row.backend];
    ++regions;
    operators += row.operators.size();
    all += row.operators.size();
  }
  std::string text = "placement:";
  for (const auto& [backend, counts] : by_backend) {
    text += fmt::format(" {} {} of {} operators in {} {};", backend, counts.second, all,
                        counts.first, backend == "native" ? "kernels" : "regions");
  }
  text.back() = '\n';
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::size_t>> counted(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::size_t>> out;
  for (const std::string& text : texts) {
    const auto found =
        std::find_if(out.begin(), out.end(), [&](const auto& c) { return c.first == text; });
    if (found == out.end()) {
      out.emplace_back(text, 1);
    } else {
      ++found->second;
    }
  }
  return out;
}

std::string operators_text(const std::vector<std::string>& operators) {
  std::string text;
  for (const auto& [op, count] : counted(operators)) {
    text += (text.empty() ? "" : ", ") + op + (count > 1 ? fmt::format(" x{}", count) : "");
  }
  return text;
}

std::string placement_table(const std::vector<PlacementRow>& rows) {
  std::string text = summary(rows);
  std::size_t width = 6;
  for (const PlacementRow& row : rows)
    width = std::max(width, std::min<std::size_t>(row.region.size(), 48));
  text += fmt::format("{:<{}}  {:<8}  {}\n", "region", width, "back end", "operators");
  for (const PlacementRow& row : rows) {
    text += fmt::format("{:<{}}  {:<8}  {}\n", visible(row.region), width, row.backend,
                        operators_text(row.operators));
    if (!row.reason.empty())
      text += fmt::format("{:<{}}  {:<8}    because {}\n", "", width, "", visible(row.reason));
  }
  return text;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 1'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace tessera::driver
