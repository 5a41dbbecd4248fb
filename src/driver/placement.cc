// SPDX-License-Identifier: Apache-2.0
#include "driver/placement.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/table.h"
#include "byoc/adopt.h"
#include "diagnostics/places.h"
#include "driver/lack_of.h"
#include "driver/runtime_operators.h"
#include "driver/tuning.h"
#include "ops/inference/infer_types.h"
#include "types/fast_types.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

// A warning, and what can be measured no more.
void leave_out(const Target& target, const std::string& why, Partitioned& parts) {
  parts.warnings.push_back(warning(Code::kBackendMissing, {}, "{}", why));
  if (!measures(target)) return;
  parts.unmeasurable.add(
      error(Code::kBackendMissing, {}, "{}", why)
          .with_remedy(fmt::format("measuring needs it: mend that, or name targets without `{}`",
                                   target.name())));
}

// A back end for the CPU is asked for the one that the library is for.
Target on_machine(const Target& target, const Target& machine) {
  const bool is_told = target.host() != nullptr || !target.is_external_for(machine);
  return is_told || machine.device() != DeviceType::kCpu ? target : target.with_host(machine);
}

// The back ends of the target list that can work here, in its order.
std::vector<byoc::BackendChoice> choices_of(const CompileOptions& options, Partitioned& parts) {
  std::vector<byoc::BackendChoice> choices;
  const Target machine = compute_target(options.targets);
  for (const Target& given : options.targets) {
    if (!given.is_external()) continue;
    const Target target = on_machine(given, machine);
    if (target.device() != machine.device()) {
      leave_out(target,
                fmt::format("{}: it computes on the {}, and this library on the {}", target.name(),
                            to_string(target.device()), to_string(machine.device())),
                parts);
      continue;
    }
    const byoc::Backend* backend = backends::find_backend(target.name());
    if (backend == nullptr) {
      leave_out(target, fmt::format("this tessera has no back end `{}`", target.name()), parts);
    } else if (const auto missing = lack_of(*backend, target)) {
      leave_out(target, fmt::format("{}: {}", target.name(), missing->reason), parts);
      parts.refusals.push_back(byoc::refusal_of({backend, target}, *missing));
    } else {
      choices.push_back({backend, target});
    }
  }
  return choices;
}

// Those that will place, for passes that prepare for them; what is missing is reported when they
// do.
std::vector<byoc::BackendChoice> will_place(const CompileOptions& options) {
  Partitioned reported_later;
  return options.partition != Partition::kNone ? choices_of(options, reported_later)
                                               : std::vector<byoc::BackendChoice>();
}

void add_runtime_operators(const CompileOptions& options,
                           std::vector<byoc::BackendChoice>& choices) {
  const bool on_gpu = !is_on_host(compute_space(options.targets));
  choices.push_back({&runtime_operators(on_gpu), host_target(options.targets)});
}

// Is there a target for the machine that the back end's code runs on? Without any, it is the CPU.
bool has_machine(const std::vector<Target>& targets, DeviceType device) {
  return device == DeviceType::kCpu ||
         std::any_of(targets.begin(), targets.end(), [device](const Target& t) {
           return !t.is_external() && t.device() == device;
         });
}

// The back end of a function's `Compiler`: with the user's target, or defaults for the user's
// machine if it is not in the list.
std::variant<byoc::BackendChoice, byoc::Refusal> named_backend(
    const std::string& name, const std::vector<byoc::BackendChoice>& choices,
    const std::vector<Target>& targets) {
  if (const byoc::BackendChoice* choice = find_choice(name, choices)) return *choice;
  const byoc::Backend* backend = backends::find_backend(name);
  if (backend == nullptr) return byoc::Refusal{"this tessera has no such back end"};
  const Target target = on_machine(follow_machine(Target(name), targets), compute_target(targets));
  if (!has_machine(targets, target.device())) {
    return byoc::Refusal{
        fmt::format("no target is for its device, {}", to_string(target.device()))};
  }
  if (auto missing = lack_of(*backend, target)) return *std::move(missing);
  return byoc::BackendChoice{backend, target};
}

bool has_product(const std::vector<std::string>& operators) {
  return std::any_of(operators.begin(), operators.end(), is_product);
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Is the refusal of an operator of the row, or of a whole back end that is missing and matters?
bool concerns(const byoc::PlacementRefusal& r, const PlacementRow& row) {
  if (r.taken_by != row.backend) return false;
  if (r.op.empty()) return has_product(row.operators);
  return contains(row.operators, r.op) &&
         std::any_of(row.sources.begin(), row.sources.end(),
                     [&](const Location& at) { return share_a_place(at, r.source); });
}

// What the back ends of higher priority said of the row's operators, each sentence once.
std::string reasons(const std::vector<byoc::PlacementRefusal>& refusals, const PlacementRow& row) {
  std::string text;
  for (const byoc::PlacementRefusal& r : refusals) {
    if (r.reason.empty()) continue;
    const std::string sentence = fmt::format("{}: {}", r.backend, r.reason);
    if (!concerns(r, row) || text.find(sentence) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + sentence;
  }
  return text;
}

std::vector<PlacementRow> rows_of(const byoc::PartitionOutcome& outcome) {
  std::vector<PlacementRow> rows;
  for (const byoc::PlacedRegion& region : outcome.regions) {
    PlacementRow row{region.symbol, region.backend, region.operators, region.sources, ""};
    row.reason = reasons(outcome.refusals, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Of those that will place.
std::vector<byoc::Capabilities> capabilities_of(const CompileOptions& options) {
  std::vector<byoc::Capabilities> all;
  for (const byoc::BackendChoice& choice : will_place(options)) {
    all.push_back(choice.backend->capabilities(choice.target));
  }
  return all;
}

}  // namespace

const byoc::BackendChoice* find_choice(std::string_view name,
                                       const std::vector<byoc::BackendChoice>& choices) {
  for (const byoc::BackendChoice& choice : choices) {
    if (choice.backend->name() == name) return &choice;
  }
  return nullptr;
}

std::vector<std::string> desired_layouts(const CompileOptions& options) {
  std::map<std::string, std::string> by_operator;
  for (const byoc::BackendChoice& choice : will_place(options)) {
    for (std::string& text : choice.backend->layouts(choice.target)) {
      const std::string op = text.substr(0, text.find(':'));
      std::string& wanted = by_operator[op];
      // Who comes first has its way; who comes later may say more.
      if (wanted.empty() || text.starts_with(wanted + ":")) wanted = std::move(text);
    }
  }
  std::vector<std::string> desired;
  for (auto& [op, text] : by_operator) desired.push_back(std::move(text));
  return desired;
}

std::vector<std::vector<std::string>> layouts_by_back_end(const CompileOptions& options) {
  std::vector<std::vector<std::string>> all;
  for (const byoc::BackendChoice& choice : will_place(options)) {
    std::vector<std::string> layouts = choice.backend->layouts(choice.target);
    const bool is_new = std::find(all.begin(), all.end(), layouts) == all.end();
    if (!layouts.empty() && is_new) all.push_back(std::move(layouts));
  }
  return all;
}

std::vector<byoc::BackendChoice> placing_choices(const CompileOptions& options) {
  std::vector<byoc::BackendChoice> choices = will_place(options);
  add_runtime_operators(options, choices);
  return choices;
}

bool multiplies_integers(const CompileOptions& options) {
  return std::ranges::any_of(capabilities_of(options), &byoc::Capabilities::int8_products);
}

bool multiplies_float8(const CompileOptions& options) {
  return std::ranges::any_of(capabilities_of(options), &byoc::Capabilities::float8_products);
}

bool multiplies_mixed_types(const CompileOptions& options) {
  return std::ranges::any_of(capabilities_of(options), &byoc::Capabilities::mixed_products);
}

bool multiplies_widened_integers(const CompileOptions& options) {
  return std::ranges::any_of(capabilities_of(options), &byoc::Capabilities::widened_products);
}

bool scales_rows(const CompileOptions& options) {
  return std::ranges::any_of(capabilities_of(options), &byoc::Capabilities::scaled_rows);
}

std::vector<DType> slow_16_bit_types(const CompileOptions& options) {
  const auto fast = fast_16_bit_types(compute_target(options.targets));
  std::vector<DType> slow = {kFloat16, kBFloat16};
  std::erase_if(slow, [&](DType t) { return std::ranges::find(fast, t) != fast.end(); });
  return slow;
}

std::vector<DType> native_product_types(const CompileOptions& options) {
  if (!will_place(options).empty()) return {};
  return fast_product_types(compute_target(options.targets));
}

bool native_multiplies_integers(const CompileOptions& options) {
  return is_on_host(compute_space(options.targets)) && will_place(options).empty() &&
         multiplies_pairs(compute_target(options.targets));
}

std::string_view integer_products(const CompileOptions& options) {
  const bool on_host = is_on_host(compute_space(options.targets));
  if (on_host ? multiplies_widened_integers(options) : multiplies_integers(options)) return "all";
  return native_multiplies_integers(options) ? "pairs" : "none";
}

std::vector<DType> widened_types(const CompileOptions& options) {
  const auto all = capabilities_of(options);
  std::vector<DType> widened = slow_16_bit_types(options);
  const std::vector<DType> products = native_product_types(options);
  std::erase_if(widened, [&](DType dtype) {
    if (std::ranges::find(products, dtype) != products.end()) return true;
    return std::ranges::any_of(all, [&](const byoc::Capabilities& c) {
      return std::ranges::find(c.types_of_16_bits, dtype) != c.types_of_16_bits.end();
    });
  });
  return widened;
}

Result<Partitioned> partition_module(Module module, const CompileOptions& options,
                                     Toolchain& toolchain, byoc::Placer& placer) {
  Partitioned parts;
  if (options.partition != Partition::kNone) parts.choices = choices_of(options, parts);
  if (options.tuning.measures && !parts.unmeasurable.empty()) {
    return fail(std::move(parts.unmeasurable));
  }
  for (const byoc::BackendChoice& c : parts.choices) parts.tried.emplace_back(c.backend->name());
  add_runtime_operators(options, parts.choices);
  TESSERA_TRY(module, ops::infer_types(std::move(module)));
  byoc::CompileContext context{toolchain, options.jobs, options.strict, {}};
  TESSERA_TRY(byoc::Adopted given, byoc::adopt_compiler_functions(
                                       std::move(module),
                                       [&](const std::string& name) {
                                         return named_backend(name, parts.choices, options.targets);
                                       },
                                       context));
  for (Diagnostic& w : context.warnings) parts.warnings.push_back(std::move(w));
  TESSERA_TRY(parts.outcome,
              placer.place(with_distinct_operands(std::move(given.outcome.module)), parts.choices));
  parts.outcome.regions.insert(parts.outcome.regions.begin(), given.outcome.regions.begin(),
                               given.outcome.regions.end());
  parts.outcome.refusals.insert(parts.outcome.refusals.begin(), given.outcome.refusals.begin(),
                                given.outcome.refusals.end());
  parts.named_only = std::move(given.choices);
  std::erase_if(parts.named_only, [&](const byoc::BackendChoice& c) {
    return find_choice(c.backend->name(), parts.choices) != nullptr;
  });
  return parts;
}

Result<Placed> compile_regions(Partitioned parts, const CompileOptions& options, const Kept& kept,
                               Toolchain& toolchain, byoc::Placer& placer) {
  byoc::CompileContext context{toolchain, options.jobs,      options.strict,
                               {},        kept.measurements, kept.made};
  TESSERA_TRY(byoc::PartitionOutcome outcome,
              byoc::compile_backends(std::move(parts.outcome), parts.choices, context, placer,
                                     parts.named_only));
  Placed placed;
  placed.tried = std::move(parts.tried);
  placed.warnings = std::move(parts.warnings);
  for (Diagnostic& w : context.warnings) placed.warnings.push_back(std::move(w));
  placed.rows = rows_of(outcome);
  placed.refusals = std::move(parts.refusals);
  placed.refusals.insert(placed.refusals.end(), outcome.refusals.begin(), outcome.refusals.end());
  placed.module = std::move(outcome.module);
  return placed;
}

bool is_product(std::string_view op) {
  return op == "nn.dense" || op.find("matmul") != std::string_view::npos ||
         op.starts_with("nn.conv");
}

std::string reason_of(const PlacementRow& row, const PlacementFacts& facts) {
  const std::string said = reasons(facts.refusals, row);
  const std::string* heavy = heavy_operator(row);
  if (!said.empty() || heavy == nullptr) return said;
  if (facts.tried.empty()) return "no back end was asked";
  return fmt::format("no pattern of {} fits `{}`", fmt::join(facts.tried, ", "), *heavy);
}

std::vector<PlacementRow> native_rows(const Module& lowered, const PlacementFacts& facts) {
  std::vector<PlacementRow> rows;
  for (const auto& [symbol, e] : lowered.externs) {
    if (e.backend != "native") continue;
    PlacementRow row{symbol, e.backend, e.operators, e.sources, ""};
    row.reason = reason_of(row, facts);
    rows.push_back(std::move(row));
  }
  return rows;
}

const std::string* heavy_operator(const PlacementRow& row) {
  const auto heavy = std::find_if(row.operators.begin(), row.operators.end(), is_product);
  return heavy == row.operators.end() ? nullptr : &*heavy;
}

Result<void> check_required(const std::vector<PlacementRow>& rows,
                            const std::vector<std::string>& required) {
  if (required.empty()) return {};
  Diagnostics errors;
  for (const PlacementRow& row : rows) {
    if (contains(required, row.backend)) continue;
    const std::string* heavy = heavy_operator(row);
    if (heavy == nullptr) continue;
    errors.add(error(Code::kRequirementUnmet, row.sources.empty() ? nullptr : row.sources.front(),
                     "`{}` went to {} with `{}`, and --require names {}{}", *heavy, row.backend,
                     row.region, fmt::join(required, ", "),
                     row.reason.empty() ? "" : "; " + row.reason)
                   .with_remedy("change what the reason names, add the back end to --backends, or "
                                "omit --require"));
  }
  if (errors.empty()) return {};
  return fail(std::move(errors));
}

}  // namespace tessera::driver
