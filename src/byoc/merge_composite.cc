// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "passes/pass.h"
#include "relay/patterns/pattern_groups.h"

namespace tessera::byoc {
namespace {

using passes::PassContext;
using relay::CompositePattern;
using relay::Function;
using relay::IndexedGraph;
using relay::PatternGroup;
using relay::PatternTable;

struct MergeCompositeOptions {
  std::string table;
  static constexpr auto fields =
      std::tuple{relay::required_attr("table", &MergeCompositeOptions::table)};
};

// The patterns of a table, one after the other, on one function.
class Merger {
 public:
  Merger(std::string name, const PatternTable& table, Target target, const ConstantPool& pool,
         const PassContext& context)
      : name_(std::move(name)),
        table_(table),
        target_(std::move(target)),
        pool_(pool),
        context_(context) {}

  Function run(Function f) {
    auto graph = std::make_unique<IndexedGraph>(f);
    for (const CompositePattern& pattern : table_.composites) {
      const std::vector<PatternGroup> groups = groups_of(*graph, pattern);
      if (groups.empty()) continue;
      relay::Attrs attrs;
      attrs.set("Composite", pattern.name);
      Function merged = relay::partition(*graph, groups, attrs);
      f = std::move(merged);
      graph = std::make_unique<IndexedGraph>(f);
    }
    return f;
  }

 private:
  // A group that the check refuses is left as it is, and its nodes are taken for this pattern all
  // the same.
  std::vector<PatternGroup> groups_of(const IndexedGraph& graph, const CompositePattern& pattern) {
    std::size_t tried = 0;
    relay::PatternGrouper::Observer observer;
    if (context_.trace_patterns) {
      observer = [&](std::uint32_t root, const std::string& why_not) {
        ++tried;
        if (!why_not.empty()) trace(graph, pattern, root, "declined: " + why_not);
      };
    }
    auto groups = relay::PatternGrouper(graph, pattern.pattern, &pool_, observer).run();
    std::erase_if(groups, [&](const PatternGroup& group) {
      const auto why = pattern.check ? pattern.check(group.match, target_) : std::nullopt;
      trace(graph, pattern, group.root, why ? "declined: " + why->reason : "applied");
      return why.has_value();
    });
    if (context_.trace_patterns && tried == 0) {
      context_.trace_patterns(
          fmt::format("@{}: {}: tried: nothing that it could end with", name_, pattern.name));
    }
    return groups;
  }

  void trace(const IndexedGraph& graph, const CompositePattern& pattern, std::uint32_t root,
             const std::string& verdict) const {
    if (!context_.trace_patterns) return;
    std::string place;
    if (graph[root].node) place = to_string(graph.function()[graph[root].node].location);
    context_.trace_patterns(fmt::format("@{}: {}: {}{}{}: {}", name_, pattern.name, place,
                                        place.empty() ? "" : ": ",
                                        relay::expr_facts::describe(graph, root), verdict));
  }

  std::string name_;
  const PatternTable& table_;
  Target target_;
  const ConstantPool& pool_;
  const PassContext& context_;
};

// The module's target of that kind, for checks that ask for its options.
Target target_of(const PatternTable& table, std::span<const Target> targets) {
  for (const Target& target : targets) {
    if (target.name() == table.name) return target;
  }
  return find_target_kind(table.name) != nullptr ? Target(table.name) : Target();
}

Result<const PatternTable*> find_table(const std::string& name, const PassContext& context) {
  std::vector<std::string_view> known;
  for (const PatternTable& table : context.pattern_tables) {
    if (table.name == name) return &table;
    known.push_back(table.name);
  }
  return fail(
      error(Code::kBadPassOption, {}, "there is no table of patterns `{}`", name)
          .with_remedy(fmt::format("the tables are {}; --patterns FILE adds those of a file",
                                   fmt::join(known, ", "))));
}

void warn_about_functions(const PatternTable& table, PassContext& context) {
  for (const CompositePattern& pattern : table.composites) {
    if (!relay::is_function_pattern(pattern.pattern)) continue;
    context.warnings.push_back(
        warning(Code::kNotSupported, {},
                "composite `{}` is a function that nobody calls, which cannot be taken out",
                pattern.name)
            .with_remedy("write the call of the function: `fn (*) { ... }(*)`"));
  }
}

Result<Module> run_merge_composite(Module module, PassContext& context) {
  const auto options = relay::read_attrs<MergeCompositeOptions>(context.options);
  TESSERA_TRY(const PatternTable* table, find_table(options.table, context));
  warn_about_functions(*table, context);
  for (auto& [name, function] : module.functions) {
    if (!relay::is_optimizable(function)) continue;
    CheckContext check("in @" + name);
    function = Merger(name, *table, target_of(*table, context.targets), module.constants, context)
                   .run(std::move(function));
  }
  return module;
}

}  // namespace

extern const passes::Pass merge_composite;
const passes::Pass merge_composite{
    .name = "merge-composite",
    .summary = "puts what a table of patterns matches into composite functions",
    .options = relay::attr_schema<MergeCompositeOptions>,
    .run = run_merge_composite,
};

}  // namespace tessera::byoc
