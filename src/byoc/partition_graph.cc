// SPDX-License-Identifier: Apache-2.0
// The pass `partition-graph` (relay-spec 2.10): annotated regions become functions of the module.
#include "byoc/partition_graph.h"

#include <map>

#include <fmt/format.h>

#include "module/name_supply.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::byoc {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

constexpr relay::AttrRule kPartOfIdentifier{
    "of letters, digits and `_` alone: it becomes part of C identifiers",
    [](const relay::AttrValue& v) {
      const std::string text = relay::AttrCodec<std::string>::decode(v);
      return legal_identifier(text) == text;
    }};

struct PartitionOptions {
  std::string mod_name = "default";
  bool bind_constants = true;
  static constexpr auto fields =
      std::tuple{relay::attr("mod_name", &PartitionOptions::mod_name, kPartOfIdentifier),
                 relay::attr("bind_constants", &PartitionOptions::bind_constants)};
};

// Takes the regions out of one function.
class Partitioner {
 public:
  // Adds the functions that it makes to `module`, and their names to `names`.
  Partitioner(const std::string& name, const Function& f, const AnnotatedRegions& regions,
              const RegionFunctionOptions& options, Module& module, NameSupply& names)
      : name_(name),
        f_(f),
        regions_(regions),
        options_(options),
        module_(module),
        names_(names),
        captured_(relay::captures(f)),
        made_(regions.size()),
        is_output_(f.num_nodes(), false) {
    for (std::size_t i = 0; i < regions.size(); ++i) {
      for (const NodeId end : regions[i].outs) is_output_[f.operands(end)[0].index()] = true;
    }
  }

  Result<Function> run() {
    check_results();
    const PostOrder order = post_order(f_, [&](NodeId id) { return reads(id); });
    if (order.cycle) {
      errors_.add(error(Code::kMalformedGraph, f_[order.cycle].location,
                        "a region needs a value that is computed from what it returns")
                      .with_remedy("`merge-compiler-regions` makes no such regions"));
    }
    if (!errors_.empty()) return fail(std::move(errors_));
    Function out =
        relay::rewrite(f_, order.nodes, [&](Copier& c, NodeId id) { return visit(c, id); });
    if (!errors_.empty()) return fail(std::move(errors_));
    return out;
  }

 private:
  // Does the node go into a function? Regions that nothing leaves stay where they are.
  bool is_taken(NodeId id) const {
    const std::uint32_t region = regions_.of(id);
    return region != AnnotatedRegions::kNone && !regions_[region].outs.empty();
  }

  // What must be there before a node: of a value that leaves a region, all that enters this.
  std::vector<NodeId> reads(NodeId id) {
    const auto operands = f_.operands(id);
    std::vector<NodeId> out(operands.begin(), operands.end());
    if (is_taken(id)) {
      if (is_end(f_, id)) return out;
      out.clear();
      for (const NodeId begin : regions_[regions_.of(id)].ins) out.push_back(argument_of(begin));
    } else {
      for (const NodeId value : captured_[id.index()]) {
        if (!is_inside(value) || is_output_[value.index()]) out.push_back(value);
      }
      for (const NodeId value : operands) {
        if (is_inside(value)) report_escape(value);
      }
    }
    return out;
  }
  // Inside of a region, where only what is in it too can read it.
  bool is_inside(NodeId id) const { return is_taken(id) && !is_end(f_, id); }

  NodeId argument_of(NodeId begin) {
    NodeId value = f_.operands(begin)[0];
    while (is_begin(f_, value)) value = f_.operands(value)[0];
    if (is_inside(value)) report_escape(value);
    return value;
  }

  void check_results() {
    for (std::size_t i = 0; i < f_.num_regions(); ++i) {
      const NodeId result = f_.region(relay::RegionId(i)).result;
      if (is_inside(result)) report_escape(result);
    }
  }
  void report_escape(NodeId id) {
    errors_.add(error(Code::kMalformedGraph, f_[id].location,
                      "a value of a region of `{}` is used outside of it without a `compiler_end`",
                      regions_[regions_.of(id)].target));
  }

  std::optional<NodeId> visit(Copier& c, NodeId id) {
    if (is_inside(id)) return output(c, id);
    if (is_annotation(f_, id)) return c.map(f_.operands(id)[0]);
    return std::nullopt;
  }

  struct Made {
    NodeId call;
    std::map<NodeId, NodeId> outputs;  // what stands for a value of the region
  };

  // The call of a region stands where the first of its values does that leave it.
  NodeId output(Copier& c, NodeId value) {
    Made& made = made_[regions_.of(value)];
    const bool is_made = made.call || (errors_.empty() && make(c, regions_.of(value), made));
    if (!is_made) return c.builder().tuple({});
    return made.outputs.at(value);
  }

  bool make(Copier& c, std::uint32_t number, Made& made) {
    auto result = make_region_function(f_, regions_, number, captured_, options_);
    if (!result) {
      errors_.add(std::move(result).error());
      return false;
    }
    const AnnotatedRegion& region = regions_[number];
    const std::string plain = fmt::format("{}_{}_{}", region.target, name_, region.id);
    const std::string name = names_.fresh(plain);
    relay::FunctionBuilder& b = c.builder();
    b.at(result->function.location);
    std::vector<NodeId> arguments;
    for (const NodeId input : result->inputs) arguments.push_back(c.map(input));
    made.call = b.call_value(b.global(name), arguments);
    b.set_type(made.call, result->function.result_annotation);
    for (std::size_t i = 0; i < result->outputs.size(); ++i) {
      const NodeId output = result->outputs[i];
      NodeId value = made.call;
      if (result->outputs.size() > 1) {
        value = b.project(made.call, static_cast<int>(i));
        b.set_type(value, f_.type(output));
      }
      made.outputs[output] = value;
    }
    result->function.attrs = {
        {"global_symbol", plain}, {"Primitive", 1}, {"Compiler", region.target}, {"Inline", 1}};
    module_.functions[name] = std::move(result->function);
    return true;
  }

  const std::string& name_;
  const Function& f_;
  const AnnotatedRegions& regions_;
  const RegionFunctionOptions& options_;
  Module& module_;
  NameSupply& names_;
  const std::vector<std::vector<NodeId>> captured_;
  std::vector<Made> made_;       // by region
  std::vector<bool> is_output_;  // by node: does it leave its region?
  Diagnostics errors_;
};

Result<Module> with_regions_taken_out(Module module, const RegionFunctionOptions& options) {
  NameSupply names(module);
  std::vector<std::string> callers;
  for (const auto& [name, f] : module.functions) callers.push_back(name);
  Diagnostics errors;
  for (const std::string& name : callers) {
    CheckContext in("in @" + name);
    const Function f = without_default_annotations(flatten_tuple_ends(module.functions.at(name)));
    const auto regions = AnnotatedRegions::find(f);
    if (!regions) {
      errors.add(regions.error());
      continue;
    }
    auto rest = Partitioner(name, f, *regions, options, module, names).run();
    if (rest) {
      module.functions.at(name) = std::move(rest).value();
    } else {
      errors.add(std::move(rest).error());
    }
  }
  if (!errors.empty()) return fail(std::move(errors));
  return module;
}

Function with_names(const Function& f, const std::map<std::string, std::string>& fresh) {
  return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    const auto* global = f.as<relay::GlobalRef>(id);
    const auto it = global != nullptr ? fresh.find(global->name) : fresh.end();
    if (it == fresh.end()) return std::nullopt;
    return c.builder().global(it->second);
  });
}

// All functions with `Compiler` get the prefix, and names that C accepts.
Module mangled(Module module, const std::string& mod_name) {
  const auto is_mangled = [](const Function& f) { return f.attrs.find("Compiler") != nullptr; };
  NameSupply names{Module()};
  for (const auto& [name, f] : module.prim_funcs) names.take(name);
  for (const auto& [name, e] : module.externs) names.take(name);
  for (const auto& [name, f] : module.functions) {
    if (!is_mangled(f)) names.take(name);
  }
  std::map<std::string, std::string> fresh;
  const std::string prefix = mod_name.empty() ? "tvmgen_" : "tvmgen_" + mod_name + "_";
  for (const auto& [name, f] : module.functions) {
    if (is_mangled(f)) fresh[name] = names.fresh(legal_identifier(prefix + name));
  }
  std::map<std::string, Function> functions;
  for (auto& [name, f] : module.functions) {
    Function renamed = with_names(f, fresh);
    const auto it = fresh.find(name);
    if (it != fresh.end()) renamed.attrs.set("global_symbol", it->second);
    functions.emplace(it != fresh.end() ? it->second : name, std::move(renamed));
  }
  module.functions = std::move(functions);
  return module;
}

Result<Module> run_partition_graph(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<PartitionOptions>(context.options);
  TESSERA_TRY(module, with_regions_taken_out(std::move(module), {options.bind_constants}));
  return ops::infer_types(mangled(std::move(module), options.mod_name));
}

}  // namespace

extern const passes::Pass partition_graph;
const passes::Pass partition_graph{
    .name = "partition-graph",
    .summary = "makes functions of annotated regions, and calls of them where the regions were",
    .options = relay::attr_schema<PartitionOptions>,
    .run = run_partition_graph,
};

}  // namespace tessera::byoc
