// SPDX-License-Identifier: Apache-2.0
#include "driver/placement.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/table.h"
#include "byoc/adopt.h"
#include "driver/runtime_operators.h"
#include "ops/infer_types.h"

namespace tessera::driver {
namespace {

// The back ends of the target list that can work here, in its order; the others become warnings.
std::vector<byoc::BackendChoice> choices_of(const CompileOptions& options,
                                            std::vector<Diagnostic>& warnings) {
  std::vector<byoc::BackendChoice> choices;
  for (const Target& target : options.targets) {
    if (!target.is_external()) continue;
    const byoc::Backend* backend = backends::find_backend(target.name());
    if (backend == nullptr) {
      warnings.push_back(
          warning(Code::kBackendMissing, {}, "this tessera has no back end `{}`", target.name()));
    } else if (const auto missing = backend->available(target)) {
      warnings.push_back(
          warning(Code::kBackendMissing, {}, "{}: {}", target.name(), missing->reason));
    } else {
      choices.push_back({backend, target});
    }
  }
  return choices;
}

const byoc::BackendChoice* find_choice(std::string_view name,
                                       const std::vector<byoc::BackendChoice>& choices) {
  for (const byoc::BackendChoice& choice : choices) {
    if (choice.backend->name() == name) return &choice;
  }
  return nullptr;
}

// Is there a target for the machine that the back end's code runs on? Without any, it is the CPU.
bool has_machine(const std::vector<Target>& targets, DeviceType device) {
  return device == DeviceType::kCpu ||
         std::any_of(targets.begin(), targets.end(), [device](const Target& t) {
           return !t.is_external() && t.device() == device;
         });
}

// The back end of a function's `Compiler`: with the user's target, or all defaults if it is not in
// the list.
std::variant<byoc::BackendChoice, byoc::Refusal> named_backend(
    const std::string& name, const std::vector<byoc::BackendChoice>& choices,
    const std::vector<Target>& targets) {
  if (const byoc::BackendChoice* choice = find_choice(name, choices)) return *choice;
  const byoc::Backend* backend = backends::find_backend(name);
  if (backend == nullptr) return byoc::Refusal{"this tessera has no such back end"};
  const Target target(name);
  if (!has_machine(targets, target.device())) {
    return byoc::Refusal{
        fmt::format("no target is for its device, {}", to_string(target.device()))};
  }
  if (auto missing = backend->available(target)) return *std::move(missing);
  return byoc::BackendChoice{backend, target};
}

// What the back ends of higher priority said of the region's operators, each sentence once.
std::string reasons(const byoc::PartitionOutcome& outcome, const byoc::PlacedRegion& region) {
  std::string text;
  for (const byoc::PlacementRefusal& r : outcome.refusals) {
    if (r.taken_by != region.backend) continue;
    const bool ours =
        std::find(region.sources.begin(), region.sources.end(), r.source) != region.sources.end();
    const std::string sentence = fmt::format("{}: {}", r.backend, r.reason);
    if (!ours || text.find(sentence) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + sentence;
  }
  return text;
}

std::vector<PlacementRow> rows_of(const byoc::PartitionOutcome& outcome) {
  std::vector<PlacementRow> rows;
  for (const byoc::PlacedRegion& region : outcome.regions) {
    PlacementRow row{region.symbol, region.backend, region.operators, {}, reasons(outcome, region)};
    for (const Location& at : region.sources) row.sources.push_back(to_string(at));
    rows.push_back(std::move(row));
  }
  return rows;
}

bool is_heavy(const std::string& op) {
  return op == "nn.dense" || op.find("matmul") != std::string::npos || op.starts_with("nn.conv");
}

// --require: products and convolutions that stayed with native code or went to a back end not
// named.
Result<void> check_required(const byoc::PartitionOutcome& outcome, const CompileOptions& options) {
  if (options.require.empty()) return {};
  Diagnostics errors;
  for (const byoc::PlacementRefusal& r : outcome.refusals) {
    const bool named = std::find(options.require.begin(), options.require.end(), r.taken_by) !=
                       options.require.end();
    if (named || !is_heavy(r.op)) continue;
    errors.add(error(Code::kRequirementUnmet, r.source,
                     "`{}` went to {}, which --require does not name; {}: {}", r.op, r.taken_by,
                     r.backend, r.reason));
  }
  for (const byoc::PlacedRegion& region : outcome.regions) {
    if (std::find(options.require.begin(), options.require.end(), region.backend) !=
        options.require.end())
      continue;
    if (std::none_of(region.operators.begin(), region.operators.end(), is_heavy)) continue;
    errors.add(error(Code::kRequirementUnmet, {},
                     "region `{}` went to {}, which --require does not name", region.symbol,
                     region.backend));
  }
  if (errors.empty()) return {};
  return fail(std::move(errors));
}

}  // namespace

Result<Placed> place_regions(Module module, const CompileOptions& options,
                             byoc::Toolchain& toolchain) {
  Placed placed;
  std::vector<byoc::BackendChoice> choices;
  if (options.partition == Partition::kGreedy) choices = choices_of(options, placed.warnings);
  choices.push_back({&runtime_operators(), host_target(options.targets)});
  TESSERA_TRY(module, ops::infer_types(std::move(module)));
  byoc::CompileContext context{toolchain, options.jobs, options.strict, {}};
  TESSERA_TRY(byoc::Adopted given, byoc::adopt_compiler_functions(
                                       std::move(module),
                                       [&](const std::string& name) {
                                         return named_backend(name, choices, options.targets);
                                       },
                                       context));
  TESSERA_TRY(byoc::PartitionOutcome outcome,
              byoc::partition_greedy(std::move(given.outcome.module), choices));
  outcome.regions.insert(outcome.regions.begin(), given.outcome.regions.begin(),
                         given.outcome.regions.end());
  outcome.refusals.insert(outcome.refusals.begin(), given.outcome.refusals.begin(),
                          given.outcome.refusals.end());
  TESSERA_TRY_VOID(check_required(outcome, options));
  std::erase_if(given.choices, [&](const byoc::BackendChoice& c) {
    return find_choice(c.backend->name(), choices) != nullptr;
  });
  TESSERA_TRY(outcome, byoc::compile_backends(std::move(outcome), choices, context, given.choices));
  for (Diagnostic& w : context.warnings) placed.warnings.push_back(std::move(w));
  placed.rows = rows_of(outcome);
  placed.module = std::move(outcome.module);
  return placed;
}

}  // namespace tessera::driver
