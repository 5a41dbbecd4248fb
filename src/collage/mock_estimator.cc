// SPDX-License-Identifier: Apache-2.0
#include "collage/mock_estimator.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "relay/rewrite.h"
#include "support/check.h"

namespace tessera::collage {
namespace {

using relay::Function;
using relay::NodeId;

Diagnostic bad_entry(const std::string& text, const std::string& why) {
  return error(Code::kBadPassOption, {}, "`mock_costs`: `{}` {}", text, why)
      .with_remedy("write the kind of a target and a cost that is no less than 0: `cpu:1.5`");
}

Result<std::pair<std::string, double>> parse_entry(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return fail(bad_entry(text, "is not KIND:COST"));
  const TargetKind* kind = find_target_kind(text.substr(0, colon));
  if (kind == nullptr) {
    return fail(bad_entry(
        text, fmt::format("names no kind of target: `{}` is none", text.substr(0, colon))));
  }
  double cost = 0;
  const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(begin, end, cost);
  if (failure != std::errc() || stop != end || !std::isfinite(cost) || cost < 0) {
    return fail(bad_entry(text, "has a cost that is no number from 0 on"));
  }
  return std::pair(kind->name, cost);
}

// Users find there what they wrote.
std::string both_names(const TargetKind& kind) {
  return kind.alias.empty() ? fmt::format("`{}`", kind.name)
                            : fmt::format("`{}` (`{}`)", kind.name, kind.alias);
}

double cost_of(const Function& f, double of_one) {
  const std::vector<bool> live = relay::live_nodes(f);
  double sum = 0;
  int before = 0;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const NodeId id(i);
    if (live[i] && f.op(id) != nullptr) sum += of_one * std::pow(0.9, before++);
  }
  return sum;
}

}  // namespace

Result<MockEstimator> MockEstimator::make(std::span<const std::string> costs,
                                          std::span<const Target> targets,
                                          std::int64_t max_estimates) {
  MockEstimator out;
  out.max_estimates_ = max_estimates;
  for (const std::string& text : costs) {
    TESSERA_TRY(const auto entry, parse_entry(text));
    if (!out.costs_.insert(entry).second) {
      return fail(bad_entry(text, "gives a cost for a kind that has one already"));
    }
  }
  std::vector<const TargetKind*> missing;
  std::vector<std::string> names;
  for (const Target& target : targets) {
    if (out.costs_.contains(target.name())) continue;
    missing.push_back(&target.kind());
    names.push_back(both_names(target.kind()));
  }
  if (missing.empty()) return out;
  return fail(error(Code::kBadPassOption, {}, "`mock_costs` has no cost for the target {}",
                    fmt::join(names, ", "))
                  .with_remedy(fmt::format("add `{}:COST` to the list", missing[0]->name)));
}

Result<Cost> MockEstimator::estimate(const CandidateProgram& program) {
  if (max_estimates_ > 0 && num_estimates_ == max_estimates_) {
    return fail(error(Code::kBadPassOption, {},
                      "`max_estimates` is {}, and more candidates than that need a cost",
                      max_estimates_)
                    .with_remedy("raise it, or omit it: 0 is no limit"));
  }
  ++num_estimates_;
  const double of_one = costs_.at(program.target.name());
  double sum = 0;
  for (const auto& [name, f] : program.module.functions) sum += cost_of(f, of_one);
  return Cost::of(sum);
}

}  // namespace tessera::collage
