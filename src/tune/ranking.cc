// SPDX-License-Identifier: Apache-2.0
#include "tune/ranking.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tessera::tune {
namespace {

using byoc::Failure;
using Sizes = std::vector<std::int64_t>;

constexpr double kFarthest = 2;  // factor between sizes of which one tells about the other

// The factor of all sizes together.
double factor_between(const Sizes& a, const Sizes& b) {
  double factor = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto [less, more] = std::minmax({a[i], b[i]});
    if (less != more) factor *= static_cast<double>(more) / static_cast<double>(less);
  }
  return factor;
}

// A record of the work at these sizes.
struct Sized {
  Sizes sizes;
  const Record* record;
};

// One record of each configuration at each size, in the order that they have.
std::vector<Sized> decisive(const std::vector<Record>& records, const byoc::Workload& workload) {
  std::vector<Sized> all;
  std::map<std::pair<Sizes, std::string>, std::size_t> known;  // where in the list
  for (const Record& record : records) {
    auto sizes = workload.sizes_in(record.key.workload);
    if (!sizes) continue;
    const auto [at, is_new] =
        known.try_emplace(std::pair(*sizes, record.configuration), all.size());
    if (is_new) {
      all.push_back({*std::move(sizes), &record});
    } else if (record.failure.starts_with(kWrongNumbers)) {
      all[at->second].record = &record;
    }
  }
  return all;
}

// By configuration.
std::map<std::string, Failure> failures_of(const std::vector<Sized>& all) {
  std::set<std::string> compiled;
  for (const Sized& s : all) {
    if (!s.record->failure.starts_with(kNotCompiled)) compiled.insert(s.record->configuration);
  }
  std::map<std::string, Failure> failures;
  for (const auto& [sizes, record] : all) {
    const bool is_of_kernel = record->failure.starts_with(kNotCompiled);
    // Another toolchain can do it.
    if (is_of_kernel && compiled.contains(record->configuration)) continue;
    if (record->failure.empty()) continue;
    failures.try_emplace(record->configuration,
                         Failure{record->configuration, record->failure, is_of_kernel});
  }
  return failures;
}

}  // namespace

byoc::Ranking rank(const std::vector<Record>& records, const byoc::Workload& workload) {
  const std::vector<Sized> all = decisive(records, workload);
  const auto failures = failures_of(all);
  // The nearest first.
  std::map<std::pair<double, Sizes>, std::vector<std::string>> by_sizes;
  for (const auto& [sizes, record] : all) {
    if (!record->failure.empty() || failures.contains(record->configuration)) continue;
    by_sizes[{factor_between(sizes, workload.sizes), sizes}].push_back(record->configuration);
  }
  byoc::Ranking ranking;
  for (const auto& [configuration, failure] : failures) ranking.failures.push_back(failure);
  if (by_sizes.empty() || by_sizes.begin()->first.first > kFarthest) return ranking;
  const auto& [measured_at, configurations] = *by_sizes.begin();
  ranking.configurations = configurations;
  ranking.sizes = measured_at.second;
  return ranking;
}

}  // namespace tessera::tune
