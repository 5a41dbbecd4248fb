// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

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

// The back ends to choose from, and what each declined so far.
class OpenChoices {
 public:
  explicit OpenChoices(std::span<const BackendChoice> choices)
      : choices_(choices.begin(), choices.end()) {}

  std::span<const BackendChoice> list() const { return choices_; }

  // Before the regions go back into their callers.
  void decline(const std::vector<Declined>& declined, const Module& module,
               std::string_view backend) {
    const auto choice = std::find_if(choices_.begin(), choices_.end(),
                                     [&](const auto& c) { return c.backend->name() == backend; });
    if (choice == choices_.end()) return;  // it is asked for nothing new
    if (++rounds_[std::string(backend)] > kMostRounds) {
      choices_.erase(choice);
      return;
    }
    auto all = std::make_shared<DeclinedRegions>();
    if (choice->declined != nullptr) *all = *choice->declined;
    for (const Declined& d : declined) {
      all->add(module.functions.at(d.symbol), module.constants, d.why.message);
    }
    choice->declined = std::move(all);
  }

 private:
  // A back end that goes on declining parts of what it declined gets nothing more.
  static constexpr int kMostRounds = 6;
  std::vector<BackendChoice> choices_;
  std::map<std::string, int> rounds_;
};

Result<void> partition_rest(PartitionOutcome& outcome, std::span<const BackendChoice> choices,
                            Placer& placer) {
  TESSERA_TRY(PartitionOutcome more, placer.place(std::move(outcome.module), choices));
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
  OpenChoices open(choices);
  // Each round ends the work, or takes regions from what a back end may be given.
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
      open.decline(compiled.declined, outcome.module, name);
      TESSERA_TRY_VOID(take_back(outcome, compiled.declined, name));
      for (Declined& d : compiled.declined) {
        d.why.severity = Severity::kWarning;
        context.warnings.push_back(std::move(d.why));
      }
      TESSERA_TRY_VOID(partition_rest(outcome, open.list(), placer));
      again = true;
    }
  }
  const auto left = compiler_functions(outcome.module, "");
  TESSERA_CHECK(left.empty(), "no back end compiled {}", left.front());
  return outcome;
}

}  // namespace tessera::byoc
