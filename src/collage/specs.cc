// SPDX-License-Identifier: Apache-2.0
#include "collage/specs.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collage/rules.h"

namespace tessera::collage {
namespace {

using relay::PatternTable;

SubGraphLimits limits_of(std::size_t depth) {
  return {.max_exits = 1, .allow_taps = false, .max_depth = depth};
}

// Not wrapped: passes that come later decide what becomes one kernel.
Rule native_rule(std::size_t depth) {
  return only_valid(combined(fusible_calls(),
                             {combine_by_kind(pairs_of_one_nest()), combine_tuple_arguments(),
                              combine_projections()},
                             depth),
                    limits_of(depth));
}

Rule back_end_rule(const PatternTable& table, const ConstantPool& pool, std::size_t depth) {
  std::vector<Rule> composites;
  for (const relay::CompositePattern& pattern : table.composites) {
    composites.push_back(as_composite(pattern.name, match_pattern(pattern, &pool)));
  }
  return as_primitive(
      only_valid(combined(united(std::move(composites)), combiners_of(table.combining), depth),
                 limits_of(depth)));
}

Result<const PatternTable*> table_of(const Target& target, std::span<const PatternTable> tables) {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const PatternTable& table) {
    return table.name == target.name();
  });
  if (found != tables.end()) return &*found;
  std::vector<std::string_view> known;
  for (const PatternTable& table : tables) known.push_back(table.name);
  return fail(
      error(Code::kBadTarget, {},
            "there is no table of patterns for the target `{}`, so nothing says what it "
            "can run",
            target.name())
          .with_remedy(fmt::format("the tables are {}; --patterns FILE adds those of a file",
                                   fmt::join(known, ", "))));
}

}  // namespace

void add_spec(Specs& specs, std::string name, const Target& target, Rule rule) {
  specs.push_back(std::make_unique<const PlacementSpec>(
      PlacementSpec{std::move(name), specs.size(), target, std::move(rule)}));
}

Result<Specs> make_specs(std::span<const Target> targets, std::span<const PatternTable> tables,
                         const ConstantPool& pool, const SpecOptions& options) {
  Specs specs;
  for (const Target& target : targets) {
    if (!target.is_external()) {
      add_spec(specs, "tvm_" + target.name(), target, native_rule(options.native_depth));
      continue;
    }
    TESSERA_TRY(const PatternTable* table, table_of(target, tables));
    add_spec(specs, target.name(), target, back_end_rule(*table, pool, options.back_end_depth));
  }
  const Target* host = targets.empty() ? nullptr : targets.front().host();
  add_spec(specs, "host", host != nullptr ? *host : Target(), host_nodes());
  return specs;
}

}  // namespace tessera::collage
