// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "collage/extract.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"
#include "relay/patterns/matcher.h"

namespace tessera::collage {
namespace {

constexpr relay::AttrRule kMaxExits{"0 at least", [](const relay::AttrValue& v) {
                                      return relay::AttrCodec<std::int64_t>::decode(v) >= 0;
                                    }};

struct TestingOptions {
  std::int64_t max_exits = 0;
  bool allow_taps = false;
  std::string compiler;
  std::vector<std::int64_t> indexes;
  std::vector<std::string> labels;
  static constexpr auto fields =
      std::tuple{relay::attr("max_exits", &TestingOptions::max_exits, kMaxExits),
                 relay::attr("allow_taps", &TestingOptions::allow_taps),
                 relay::required_attr("compiler", &TestingOptions::compiler),
                 relay::required_attr("indexes", &TestingOptions::indexes),
                 relay::attr("labels", &TestingOptions::labels)};
};

Diagnostic bad_option(std::string what) {
  return error(Code::kBadPassOption, {}, "`partition-for-testing`: {}", what);
}

// What does not depend on the function.
Result<void> check(const TestingOptions& options) {
  if (options.indexes.empty()) return fail(bad_option("`indexes` is empty"));
  if (options.labels.empty() || options.labels.size() == options.indexes.size()) return {};
  return fail(bad_option(fmt::format("{} `labels` stand beside {} `indexes`", options.labels.size(),
                                     options.indexes.size()))
                  .with_remedy("give a label for each index, \"\" for none"));
}

Result<IndexSet> inside_of(const std::string& name, const DataflowGraph& graph,
                           const std::vector<std::int64_t>& indexes) {
  std::vector<Index> members;
  for (const std::int64_t index : indexes) {
    if (index < 0 || index >= static_cast<std::int64_t>(graph.size())) {
      return fail(bad_option(
          fmt::format("@{} has nodes 0 to {}, and no {}", name, graph.size() - 1, index)));
    }
    members.push_back(static_cast<Index>(index));
  }
  auto inside = IndexSet::try_make(graph.size(), std::move(members));
  if (!inside) return fail(bad_option("an index occurs twice in `indexes`"));
  return std::move(*inside);
}

// Nodes of one label become one composite.
std::vector<NestedSubGraph> composites(const DataflowGraph& graph, const TestingOptions& options) {
  std::map<std::string, std::vector<Index>> by_label;
  for (std::size_t i = 0; i < options.labels.size(); ++i) {
    if (!options.labels[i].empty()) {
      by_label[options.labels[i]].push_back(static_cast<Index>(options.indexes[i]));
    }
  }
  std::vector<NestedSubGraph> out;
  for (auto& [label, members] : by_label) {
    out.push_back(
        {SubGraph(graph, IndexSet(graph.size(), std::move(members))), {{"Composite", label}}});
  }
  return out;
}

SubGraph as_given(const DataflowGraph& graph, const TestingOptions& options, IndexSet inside) {
  return SubGraph(graph, std::move(inside), composites(graph, options))
      .with_attrs({{"Compiler", options.compiler}});
}

bool is_valid(const DataflowGraph& graph, const SubGraph& whole, const TestingOptions& options) {
  const auto& parts = whole.nested().front().sub_graph.nested();
  const auto may_stand_alone = [&](const NestedSubGraph& part) {
    return part.sub_graph.is_valid(graph, {.allow_taps = true});
  };
  return whole.is_valid(graph, {static_cast<std::size_t>(options.max_exits), options.allow_taps}) &&
         std::all_of(parts.begin(), parts.end(), may_stand_alone);
}

// Leaves that nothing else reads are copied along with what reads them.
TestingOptions without_leaves(const DataflowGraph& graph, const SubGraph& whole,
                              TestingOptions options) {
  const TestingOptions all = options;
  options.indexes.clear();
  options.labels.clear();
  for (std::size_t i = 0; i < all.indexes.size(); ++i) {
    const auto index = static_cast<Index>(all.indexes[i]);
    if (graph.facts(index).is_inlinable && !whole.exit().contains(index)) continue;
    options.indexes.push_back(index);
    if (!all.labels.empty()) options.labels.push_back(all.labels[i]);
  }
  return options;
}

Result<relay::Function> partitioned(const std::string& name, const relay::Function& f,
                                    const ConstantPool& pool, const TestingOptions& options) {
  const DataflowGraph graph(f, pool);
  TESSERA_TRY(IndexSet inside, inside_of(name, graph, options.indexes));
  const SubGraph whole = as_given(graph, options, std::move(inside));
  if (!is_valid(graph, whole, options)) return f;
  const TestingOptions values = without_leaves(graph, whole, options);
  if (values.indexes.empty()) return f;
  TESSERA_TRY(inside, inside_of(name, graph, values.indexes));
  const SubGraph body = as_given(graph, values, std::move(inside));
  return can_extract(graph, body) ? rewrite(graph, body.nested()) : f;
}

Result<Module> run_partition_for_testing(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<TestingOptions>(context.options);
  TESSERA_TRY_VOID(check(options));
  for (auto& [name, f] : module.functions) {
    if (!relay::is_optimizable(f)) continue;
    CheckContext in("in @" + name);
    TESSERA_TRY(relay::Function made, partitioned(name, f, module.constants, options));
    f = std::move(made);
  }
  return ops::infer_types(std::move(module));
}

}  // namespace

extern const passes::Pass partition_for_testing;
const passes::Pass partition_for_testing{
    .name = "partition-for-testing",
    .summary = "makes one function literal with `Compiler` of the nodes with the given indices",
    .options = relay::attr_schema<TestingOptions>,
    .run = run_partition_for_testing,
};

}  // namespace tessera::collage
