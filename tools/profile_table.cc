// SPDX-License-Identifier: Apache-2.0
#include "tools/profile_table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "types/dim.h"

namespace tessera::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRuns = 25;
constexpr double kMarked = 5;  // times longer than at the roof

// What one call costs.
struct Cost {
  std::optional<double> flops, bytes;
  bool is_narrow = false;
};

// What the inputs say of the symbols in their shapes.
std::map<std::string, Dim> sizes_of(const Json& metadata, std::span<const Tensor> inputs) {
  std::map<std::string, Dim> sizes;
  const Json ports = metadata.value("inputs", Json::array());
  for (std::size_t i = 0; i < std::min(ports.size(), inputs.size()); ++i) {
    const Json shape = ports[i].value("shape", Json::array());
    for (std::size_t d = 0; d < std::min(shape.size(), inputs[i].shape.size()); ++d) {
      const std::string name = shape[d].is_string() ? shape[d].get<std::string>() : "";
      if (is_symbol_name(name)) sizes.emplace(name, Dim(inputs[i].shape[d]));
    }
  }
  return sizes;
}

std::optional<double> value_of(const Json& step, const char* what,
                               const std::map<std::string, Dim>& sizes) {
  const auto found = step.find(what);
  if (found == step.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  const auto formula =
      found->is_string() ? parse_dim_expression(found->get<std::string>()) : std::nullopt;
  const auto value = formula ? formula->substitute(sizes).as_constant() : std::nullopt;
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

// By step. None of a library of an older compiler, or whose metadata are not ours.
std::vector<Cost> step_costs(const exec::Session& session, std::span<const Tensor> inputs) {
  std::vector<Cost> costs;
  const Json metadata = Json::parse(session.metadata(), nullptr, false);
  try {
    const std::map<std::string, Dim> sizes = sizes_of(metadata, inputs);
    for (const Json& step : metadata.value("steps", Json::array())) {
      costs.push_back({value_of(step, "flops", sizes), value_of(step, "bytes", sizes),
                       step.value("narrow", false)});
    }
  } catch (const Json::exception&) {
    costs.clear();
  }
  return costs;
}

void add(std::optional<double>& sum, std::optional<double> more, double times) {
  sum = sum && more ? std::optional(*sum + *more * times) : std::nullopt;
}

// Equal kernels in one row, and the longest first.
std::vector<ProfileRow> rows_of(const std::vector<exec::KernelTime>& times,
                                const std::vector<Cost>& costs) {
  std::map<std::pair<std::string, std::string>, ProfileRow> rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const exec::KernelTime& time = times[i];
    if (time.calls == 0) continue;
    const double calls = static_cast<double>(time.calls) / kRuns;
    const Cost cost = i < costs.size() ? costs[i] : Cost{};
    ProfileRow& row = rows.try_emplace({time.kernel, time.backend},
                                       ProfileRow{time.kernel, time.backend, 0, 0, 0.0, 0.0})
                          .first->second;
    row.calls += calls;
    row.is_narrow |= cost.is_narrow;
    row.note = time.note;
    row.us += calls * static_cast<double>(time.min_ns) / 1e3;
    add(row.flops, cost.flops, calls);
    add(row.bytes, cost.bytes, calls);
  }
  std::vector<ProfileRow> sorted;
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.us > b.us; });
  return sorted;
}

double sum_of_us(const Profile& profile) {
  double sum = 0;
  for (const ProfileRow& row : profile.rows) sum += row.us;
  return sum;
}

// A rate in 1e9 a second.
std::optional<double> giga(std::optional<double> count, double us) {
  return count && us > 0 ? std::optional(*count / us / 1e3) : std::nullopt;
}

std::string cell(std::optional<double> value) {
  return value ? fmt::format("{:.1f}", *value) : "-";
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string row_text(const ProfileRow& row, const Profile& profile, double all_us,
                     std::size_t width) {
  const std::optional<double> part = part_of_roof(row, profile);
  std::string off;
  if (part && *part * kMarked < 1) off = fmt::format("  {:.0f}x off", 1 / *part);
  return fmt::format("{:<{}}  {:<8}  {:>5.0f}  {:>9.1f}  {:>7}  {:>8}  {:>7}  {:>8}{}\n",
                     row.kernel, width, row.backend, row.calls, row.us,
                     percent(all_us > 0 ? row.us / all_us : 0), cell(giga(row.flops, row.us)),
                     cell(giga(row.bytes, row.us)), part ? percent(*part) : "-", off);
}

std::string roof_text(const Profile& profile) {
  const Roof& roof = *profile.roof;
  const std::string of = profile.threads == 0 ? "the device"
                                              : fmt::format("{} thread{}", profile.threads,
                                                            profile.threads == 1 ? "" : "s");
  const std::string narrow =
      roof.narrow_flops_per_second > 0
          ? fmt::format(", {:.1f} in 16 bits", roof.narrow_flops_per_second / 1e9)
          : "";
  return fmt::format("roof of {}: {:.1f} GFLOP/s in float32{}, {:.1f} GB/s\n", of,
                     roof.flops_per_second / 1e9, narrow, roof.bytes_per_second / 1e9);
}

Json number_or_null(std::optional<double> value) { return value ? Json(*value) : Json(); }

}  // namespace

Result<Profile> measure_profile(exec::Session& session, std::span<const Tensor> inputs) {
  TESSERA_TRY_VOID(session.run_bound());
  TESSERA_TRY(const std::uint64_t device_ns, session.device_ns());
  TESSERA_TRY_VOID(session.profile(true));
  for (int i = 0; i < kRuns; ++i) {
    TESSERA_TRY_VOID(session.run_bound());
  }
  Profile profile{
      rows_of(session.kernel_times(), step_costs(session, inputs)), session.threads(), {}};
  TESSERA_TRY_VOID(session.profile(false));
  double bytes = 0;
  for (const ProfileRow& row : profile.rows) bytes += row.bytes.value_or(0);
  if (device_ns == 0) {
    profile.roof = measure_roof(profile.threads, static_cast<std::int64_t>(std::min(bytes, 1e15)));
    return profile;
  }
  profile.threads = 0;
  TESSERA_TRY(const auto rates, session.device_rates());
  if (rates) profile.roof = Roof{rates->float32_flops, rates->bytes, rates->float16_flops};
  return profile;
}

std::optional<double> part_of_roof(const ProfileRow& row, const Profile& profile) {
  if (!profile.roof || !row.flops || !row.bytes || row.us <= 0) return std::nullopt;
  const Roof& roof = *profile.roof;
  const bool is_narrow = row.is_narrow && roof.narrow_flops_per_second > 0;
  const double rate = is_narrow ? roof.narrow_flops_per_second : roof.flops_per_second;
  const double least_s = std::max(*row.flops / rate, *row.bytes / roof.bytes_per_second);
  return least_s > 0 ? std::optional(1e6 * least_s / row.us) : std::nullopt;
}

std::string profile_table(const Profile& profile) {
  std::string text;
  if (profile.roof) text += roof_text(profile);
  std::size_t width = 6;
  for (const ProfileRow& row : profile.rows) width = std::max(width, row.kernel.size());
  text += fmt::format("{:<{}}  {:<8}  {:>5}  {:>9}  {:>7}  {:>8}  {:>7}  {:>8}\n", "kernel", width,
                      "back end", "calls", "us", "share", "GFLOP/s", "GB/s", "of roof");
  const double all_us = sum_of_us(profile);
  for (const ProfileRow& row : profile.rows) text += row_text(row, profile, all_us, width);
  for (const ProfileRow& row : profile.rows) {
    if (!row.note.empty()) text += fmt::format("{}: {}\n", row.kernel, row.note);
  }
  return text;
}

Json profile_json(const Profile& profile) {
  Json json = {{"kernels", Json::array()}};
  if (profile.roof) {
    json["roof"] = {{"gflops_per_s", profile.roof->flops_per_second / 1e9},
                    {"gbytes_per_s", profile.roof->bytes_per_second / 1e9}};
    if (const double narrow = profile.roof->narrow_flops_per_second; narrow > 0) {
      json["roof"]["narrow_gflops_per_s"] = narrow / 1e9;
    }
  }
  const double all_us = sum_of_us(profile);
  for (const ProfileRow& row : profile.rows) {
    json["kernels"].push_back({{"kernel", row.kernel},
                               {"backend", row.backend},
                               {"calls", row.calls},
                               {"us", row.us},
                               {"share", all_us > 0 ? row.us / all_us : 0},
                               {"flops", number_or_null(row.flops)},
                               {"bytes", number_or_null(row.bytes)},
                               {"of_roof", number_or_null(part_of_roof(row, profile))}});
  }
  return json;
}

}  // namespace tessera::tools
