// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/codegen.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "backends/onednn/composites.h"
#include "backends/onednn/open_sizes.h"
#include "byoc/json_graph_writer.h"
#include "constants/made_weight.h"
#include "support/check.h"

namespace tessera::backends::onednn {
namespace {

using byoc::JsonGraphWriter;
using byoc::RegionSizes;
using Entry = JsonGraphWriter::Entry;
using relay::Function;

Unexpected<Diagnostics> failed(const Function& region, std::string text) {
  return fail(
      error(Code::kBackendFailed, region.location, "back end `onednn`: {}", std::move(text)));
}

std::string not_derived(const Type& type) {
  return fmt::format("a size of {} does not follow from the sizes of the region's tensors",
                     to_string(type));
}

void add_symbols(const Shape& shape, std::set<std::string>& names) {
  for (const Dim& d : shape) {
    for (std::string& name : d.symbols()) names.insert(std::move(name));
  }
}
void add_symbols(const Type& type, std::set<std::string>& names) {
  if (!type || type.is_function() || !is_dynamic(type)) return;
  for (const Type& tensor : flatten(type)) add_symbols(tensor.shape(), names);
}

// Numbers that the type can hold.
Tensor in_type(const Tensor& given, DType dtype) {
  if (dtype.is_float()) {
    std::vector<double> numbers(static_cast<std::size_t>(given.num_elements()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = element_as_double(given, static_cast<std::int64_t>(i));
    }
    return tensor_from_doubles(given.shape, dtype, numbers);
  }
  if (given.dtype == kInt32 && dtype == kInt8) {  // a weight, which may be large
    const auto wide = given.as<std::int32_t>();
    return Tensor::of(given.shape, dtype, std::vector<std::int8_t>(wide.begin(), wide.end()));
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(given.num_elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = element_as_int(given, static_cast<std::int64_t>(i));
  }
  return tensor_from_ints(given.shape, dtype, numbers);
}

// Walks a region function and writes its graph.
class GraphBuilder {
 public:
  GraphBuilder(const std::string& symbol, const Function& region, const RegionSizes& sizes,
               const ConstantPool& pool)
      : symbol_(symbol), f_(region), graph_(region), sizes_(sizes), pool_(pool) {}

  Result<void> build() {
    for (std::size_t i = 0; i < f_.params().size(); ++i) {
      const NodeId param = f_.params()[i];
      TESSERA_TRY(const Type type, type_in_graph(param));
      values_[param] = writer.input(fmt::format("input_{}", i), type);
    }
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const NodeId id{i};
      if (f_[id].region != Function::kBody || f_.as<relay::ValueCall>(id) == nullptr) continue;
      TESSERA_TRY_VOID(add_call(id));
    }
    const NodeId result = f_.result();
    if (f_.as<relay::Tuple>(result) == nullptr) {
      heads.push_back(values_.at(result));
    } else {
      for (const NodeId field : f_.operands(result)) heads.push_back(values_.at(field));
    }
    return {};
  }

  JsonGraphWriter writer;
  std::vector<Entry> heads;
  std::vector<std::string> operators;
  // The tensor of each constant node of the graph.
  std::map<std::uint32_t, Tensor> constants;
  std::optional<std::uint32_t> first_kernel;

 private:
  Result<Type> type_in_graph(NodeId id) const {
    auto type = sizes_.derived(f_.type(id));
    if (!type) return failed(f_, not_derived(f_.type(id)));
    return *std::move(type);
  }

  Result<void> add_call(NodeId call) {
    const auto operands = f_.operands(call);
    const auto* literal = f_.as<relay::Literal>(operands[0]);
    const std::string composite =
        literal != nullptr ? literal->attrs.string_or_empty("Composite") : "";
    if (composite.empty()) return failed(f_, "a region holds a call of no composite");
    const relay::Region& body = f_.region(literal->body);
    Match match;
    auto kernel = describe(graph_, body.result, composite, &pool_, &match);
    if (!kernel) return failed(f_, fmt::format("`{}`: {}", composite, kernel.error().reason));
    std::map<NodeId, NodeId> arguments;
    for (std::size_t i = 0; i < body.params.size(); ++i)
      arguments[body.params[i]] = operands[i + 1];
    std::vector<Entry> inputs;
    for (const KernelOperand& operand : kernel->operands) {
      const auto argument = arguments.find(operand.value);
      inputs.push_back(
          value(argument != arguments.end() ? argument->second : operand.value, operand.stored));
    }
    if (!kernel->derive(sizes_)) return failed(f_, not_derived(f_.type(call)));
    TESSERA_TRY(const Type type, type_in_graph(call));
    const Entry entry =
        writer.kernel(composite, std::move(inputs), kernel->json_attributes(), {type});
    if (!first_kernel) first_kernel = entry.node;
    values_[call] = entry;
    operators.push_back(composite.substr(composite.find('.') + 1));
    return {};
  }

  // A constant gets a node for each use: layouts belong to uses.
  Entry value(NodeId id, std::optional<DType> stored) {
    const auto* constant = f_.as<relay::Constant>(id);
    if (constant == nullptr) return values_.at(id);
    const Tensor& given = pool_.resolve(constant->value);
    const Tensor tensor = stored ? in_type(given, *stored) : given;
    const Entry entry = writer.constant(fmt::format("{}_const_{}", symbol_, constants.size()),
                                        tensor.shape, tensor.dtype);
    constants.emplace(entry.node, tensor);
    return entry;
  }

  const std::string& symbol_;
  const Function& f_;
  const relay::IndexedGraph graph_;
  const RegionSizes& sizes_;
  const ConstantPool& pool_;
  std::map<NodeId, Entry> values_;
};

// The weight in the layout that its primitive wants, as a flat tensor.
Result<Tensor> reorder(const Function& region, const Tensor& plain, const ConstantUse& use) {
  Library& library = *compiler_library();
  std::vector<std::byte> bytes(size_bytes(library.api(), use.wanted));
  TextBuffer text;
  const auto align_bytes = static_cast<std::size_t>(plain.dtype.size_bytes());
  if (!run_reorder(library.api(), library.engine(), plain.blob->aligned_bytes(align_bytes).data(),
                   use.stored, bytes.data(), use.wanted, &text)) {
    return failed(region, text.text());
  }
  plain.blob->release_pages();
  const auto count = static_cast<std::int64_t>(bytes.size()) / plain.dtype.size_bytes();
  return Tensor({count}, plain.dtype, made_weight(std::move(bytes)));
}

std::string layout_key(const Api& api, const ConstantUse& use, int tag) {
  std::string key = fmt::format("{} from {}", tag, find_tag(api, use.stored));
  for (std::int32_t i = 0; i < use.dims.count; ++i) key += fmt::format(",{}", use.dims.at[i]);
  return key;
}

// Gives each constant its place in the pool, reordered where its primitive wants another layout
// than it has and the layout has a name to be written down by.
Result<std::vector<NamedConstant>> place_constants(const std::string& symbol,
                                                   const Function& region, const Plan& plan,
                                                   const CodegenOptions& options,
                                                   GraphBuilder& graph, ReorderedWeights& reordered,
                                                   ConstantPool& pool) {
  const Api& api = compiler_library()->api();
  std::vector<NamedConstant> out;
  int number = 0;
  for (auto& [node, tensor] : graph.constants) {
    const ConstantUse* use = nullptr;
    for (const ConstantUse& u : plan.constants()) use = u.node == node ? &u : use;
    ConstantIndex index;
    // At sizes of nothing there are no primitives, and no layout that they want.
    const bool stays = use == nullptr || !options.reorder_weights ||
                       api.memory_desc_equal(use->stored, use->wanted) != 0;
    const int tag = stays ? -1 : find_tag(api, use->wanted);
    if (tag < 0) {
      index = pool.add(tensor);
    } else {
      const auto key = std::pair(tensor.hash(), layout_key(api, *use, tag));
      auto found = reordered.find(key);
      if (found == reordered.end()) {
        TESSERA_TRY(Tensor blocked, reorder(region, tensor, *use));
        found = reordered.emplace(key, pool.add(std::move(blocked))).first;
      }
      index = found->second;
      graph.writer.set(node, "layout_tag", {std::to_string(tag)});
    }
    out.push_back({fmt::format("{}_const_{}", symbol, number++), index});
  }
  return out;
}

}  // namespace

Result<RegionCode> generate(const std::string& symbol, const Function& region,
                            const CodegenOptions& options, ReorderedWeights& reordered,
                            ConstantPool& pool) {
  const RegionSizes sizes = RegionSizes::of(region);
  GraphBuilder graph(symbol, region, sizes, pool);
  TESSERA_TRY_VOID(graph.build());
  const std::string plain = graph.writer.text(graph.heads);
  runtime::JsonGraph parsed;
  TESSERA_CHECK(parsed.parse(plain), "the runtime cannot read our graph: {}", parsed.error());
  give_sizes(parsed, sizes, sizes_for_layouts(sizes, options.symbols));
  Library& library = *compiler_library();
  Plan plan(library.api(), library.engine(), options.threads);
  if (!plan.build(parsed)) return failed(region, plan.error());
  RegionCode code;
  TESSERA_TRY(code.constants,
              place_constants(symbol, region, plan, options, graph, reordered, pool));
  // Where sizes are known at run time only, so is the workspace.
  if (sizes.reads().empty())
    code.workspace_bytes = static_cast<std::int64_t>(plan.workspace_bytes());
  if (graph.first_kernel) {
    graph.writer.set(*graph.first_kernel, "workspace_bytes",
                     {std::to_string(code.workspace_bytes)});
    if (plan.repeats().size() > 0) {
      graph.writer.set(*graph.first_kernel, "most_threads", {std::to_string(options.threads)});
    }
  }
  code.graph = graph.writer.text(graph.heads);
  code.slow_sizes = slow_sizes(code.graph, sizes, options.symbols, options.threads);
  code.operators = std::move(graph.operators);
  return code;
}

std::optional<Refusal> sizes_refusal(const Function& region) {
  const RegionSizes sizes = RegionSizes::of(region);
  for (std::size_t i = 0; i < region.num_nodes(); ++i) {
    const Type& type = region.type(NodeId(i));
    if (!type || type.is_function() || !is_dynamic(type)) continue;
    for (const Type& tensor : flatten(type)) {
      if (!sizes.derived(tensor)) return Refusal{not_derived(tensor)};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> library_refusal(const Subject& subject, const Kernel& kernel) {
  JsonGraphWriter writer;
  std::vector<Entry> inputs;
  const Function& f = *subject.match().function;
  for (const KernelOperand& operand : kernel.operands) {
    const Type& type = f.type(operand.value);
    const std::string name = fmt::format("value_{}", inputs.size());
    inputs.push_back(subject.is_constant(operand.value)
                         ? writer.constant(name, *constant_shape(type.shape()),
                                           operand.stored.value_or(type.dtype()))
                         : writer.input(name, type));
  }
  const Entry result = writer.kernel("composite", std::move(inputs), kernel.json_attributes(),
                                     {f.type(subject.match().root)});
  runtime::JsonGraph parsed;
  TESSERA_CHECK(parsed.parse(writer.text({result})), "the runtime cannot read our graph: {}",
                parsed.error());
  std::set<std::string> names;
  add_symbols(f.type(subject.match().root), names);
  for (const KernelOperand& operand : kernel.operands) add_symbols(f.type(operand.value), names);
  const SymbolSizes sizes = sizes_for_layouts(names, {});  // the graph reads its names
  for (const auto& [name, size] : sizes) {
    TESSERA_CHECK(parsed.set_size(name, size.constant()), "out of memory");
  }
  Library& library = *compiler_library();
  Plan plan(library.api(), library.engine(), 1);
  if (!plan.build(parsed)) return Refusal{plan.error()};
  if (by_reference(plan)) {
    return Refusal{"oneDNN has only its reference implementation for these sizes"};
  }
  return std::nullopt;
}

}  // namespace tessera::backends::onednn
