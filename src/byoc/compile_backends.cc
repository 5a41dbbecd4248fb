// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "byoc/compiler_functions.h"
#include "byoc/outline.h"
#include "byoc/placer.h"
#include "byoc/share_functions.h"
#include "support/check.h"

namespace tessera::byoc {
namespace {

void forget_regions(PartitionOutcome& outcome, const std::set<std::string>& symbols) {
  std::erase_if(outcome.regions,
                [&](const PlacedRegion& r) { return symbols.count(r.symbol) != 0; });
}

// The regions that a back end declined go back into their callers.
Result<void> take_back(PartitionOutcome& outcome, const std::vector<Declined>& declined,
                       std::string_view backend) {
  std::set<std::string> symbols;
  for (const Declined& d : declined) {
    symbols.insert(d.symbol);
    for (const PlacedRegion& region : outcome.regions) {
      if (region.symbol != d.symbol) continue;
      const Location source = region.sources.empty() ? Location() : region.sources.front();
      outcome.refusals.push_back({std::string(backend), region.composites.front(),
                                  region.operators.front(), source, d.why.message, "native"});
    }
  }
  TESSERA_TRY(outcome.module, inline_functions(std::move(outcome.module), symbols));
  forget_regions(outcome, symbols);
  return {};
}

// A region without a place is where its first node is.
void add_places(const PartitionOutcome& outcome, std::vector<Declined>& declined) {
  for (Declined& d : declined) {
    for (const PlacedRegion& region : outcome.regions) {
      if (d.why.location || region.symbol != d.symbol) continue;
      for (const Location& source : region.sources) {
        if (!d.why.location) d.why.location = source;
      }
    }
  }
}

// Layers of one shape share a definition if their constants are arguments; with constants inside,
// each is a function of its own.
void share_definitions(PartitionOutcome& outcome, const Backend& backend) {
  if (backend.constants() != ConstantStyle::kArguments) return;
  Shared shared = share_equal_functions(std::move(outcome.module), backend.name());
  outcome.module = std::move(shared.module);
  for (PlacedRegion& region : outcome.regions) {
    const auto by = shared.replaced.find(region.symbol);
    if (by != shared.replaced.end()) region.symbol = by->second;
  }
}

// Those who declined what is in the region now say who took it.
void name_successor(PartitionOutcome& outcome, const PlacedRegion& region) {
  for (PlacementRefusal& refusal : outcome.refusals) {
    const bool ours = refusal.source && std::find(region.sources.begin(), region.sources.end(),
                                                  refusal.source) != region.sources.end();
    if (ours && refusal.backend != region.backend) refusal.taken_by = region.backend;
  }
}

Result<void> partition_rest(PartitionOutcome& outcome, std::span<const BackendChoice> choices,
                            const std::set<std::string_view>& excluded, Placer& placer) {
  std::vector<BackendChoice> left;
  for (const BackendChoice& choice : choices) {
    if (excluded.count(choice.backend->name()) == 0) left.push_back(choice);
  }
  TESSERA_TRY(PartitionOutcome more, placer.place(std::move(outcome.module), left));
  outcome.module = std::move(more.module);
  for (PlacedRegion& region : more.regions) {
    name_successor(outcome, region);
    outcome.regions.push_back(std::move(region));
  }
  return {};
}

}  // namespace

Result<PartitionOutcome> compile_backends(PartitionOutcome outcome,
                                          std::span<const BackendChoice> choices,
                                          CompileContext& context, Placer& placer,
                                          std::span<const BackendChoice> named_only) {
  std::vector<BackendChoice> hooks(choices.begin(), choices.end());
  hooks.insert(hooks.end(), named_only.begin(), named_only.end());
  std::set<std::string_view> excluded;
  // Each round ends the work, or excludes a back end.
  for (bool again = true; again;) {
    again = false;
    for (const BackendChoice& choice : hooks) {
      const std::string_view name = choice.backend->name();
      if (compiler_functions(outcome.module, name).empty()) continue;
      share_definitions(outcome, *choice.backend);
      TESSERA_TRY(CompileOutcome compiled,
                  choice.backend->compile(std::move(outcome.module), choice.target, context));
      outcome.module = std::move(compiled.module);
      if (compiled.declined.empty()) continue;
      add_places(outcome, compiled.declined);
      if (context.strict) {
        Diagnostics errors;
        for (Declined& d : compiled.declined) errors.add(std::move(d.why));
        return fail(std::move(errors));
      }
      TESSERA_TRY_VOID(take_back(outcome, compiled.declined, name));
      for (Declined& d : compiled.declined) {
        d.why.severity = Severity::kWarning;
        context.warnings.push_back(std::move(d.why));
      }
      TESSERA_CHECK(excluded.insert(name).second, "{} declines what it was not given", name);
      TESSERA_TRY_VOID(partition_rest(outcome, choices, excluded, placer));
      again = true;
    }
  }
  const auto left = compiler_functions(outcome.module, "");
  TESSERA_CHECK(left.empty(), "no back end compiled {}", left.front());
  return outcome;
}

}  // namespace tessera::byoc
