// SPDX-License-Identifier: Apache-2.0
#include "driver/runtime_operators.h"

#include <algorithm>

#include <fmt/format.h>

#include "byoc/compiler_functions.h"
#include "byoc/json_graph_writer.h"
#include "ops/attrs/index.h"
#include "ops/records/table.h"
#include "relay/constant_mentions.h"
#include "relay/rewrite.h"

namespace tessera::driver {
namespace {

using byoc::JsonGraphWriter;
using byoc::Refusal;
using relay::Function;
using relay::NodeId;

constexpr std::string_view kName = "runtime";

// Loops that sort are quadratic in the elements, and those that scatter look for each element
// through all updates: quicker than a call up to about here.
constexpr std::int64_t kLongAxis = 48;

// Elements that the call orders or counts: those along its axis, or all. A size that is known at
// run time may be large.
std::int64_t length_of(const relay::OpCall& call, const Type& data) {
  if (call.op->attrs().find("axis") == nullptr) {
    return num_elements(data.shape()).as_constant().value_or(kLongAxis);
  }
  const relay::AttrValue* given = call.attrs.find("axis");
  const std::int64_t* axis = given == nullptr ? nullptr : given->as<std::int64_t>();
  const auto rank = static_cast<std::int64_t>(data.rank());
  const std::int64_t at = axis == nullptr ? rank - 1 : *axis < 0 ? *axis + rank : *axis;
  if (at < 0 || at >= rank) return 0;
  return data.shape()[static_cast<std::size_t>(at)].as_constant().value_or(kLongAxis);
}

bool is_scatter(const relay::OpCall& call) { return call.op->name.starts_with("scatter_"); }

// Updates that may meet one element; 0: it is not known how many there are.
std::int64_t updates_of(const relay::OpCall& call, const Type& indices) {
  if (call.op->name == "scatter_nd") {
    return num_elements({indices.shape().begin() + 1, indices.shape().end()})
        .as_constant()
        .value_or(0);
  }
  const auto rank = static_cast<std::int64_t>(indices.rank());
  const std::int64_t axis = relay::read_attrs<ops::ScatterElementsAttrs>(call.attrs).axis;
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return indices.shape()[at].as_constant().value_or(0);
}

// An input of the model, or a view of one: a cache, which loops can update in its own memory.
bool is_input(const Function& f, NodeId id) {
  constexpr std::string_view kViews[] = {"reshape", "expand_dims", "squeeze"};
  while (f.op(id) != nullptr && std::ranges::find(kViews, f.op(id)->name) != std::end(kViews)) {
    id = f.operands(id)[0];
  }
  return f.as<relay::Param>(id) != nullptr;
}

// Sums of 16 bits are rounded as the loops do it.
std::optional<Refusal> check_scatter(const Function& f, NodeId id) {
  const auto& call = *f.as<relay::OpCall>(id);
  const Type &data = f.type(f.operands(id)[0]), &indices = f.type(f.operands(id)[1]);
  if (updates_of(call, indices) < kLongAxis) {
    return Refusal{fmt::format("a loop is as quick for fewer than {} updates", kLongAxis)};
  }
  const bool is_nd = call.op->name == "scatter_nd";
  const std::string mode = is_nd
                               ? relay::read_attrs<ops::ScatterNdAttrs>(call.attrs).mode
                               : relay::read_attrs<ops::ScatterElementsAttrs>(call.attrs).reduction;
  if (mode == "update" && is_input(f, f.operands(id)[0])) {
    return Refusal{"loops update an input in its own memory"};
  }
  const bool is_plain_number =
      !data.dtype().is_bool() && (data.dtype().is_int() || data.dtype().bits >= 32);
  if (mode == "update" || is_plain_number) return std::nullopt;
  return Refusal{fmt::format("updates of {} by `{}` are loops", to_string(data.dtype()), mode)};
}

std::optional<Refusal> check(const relay::Match& match, const Target&) {
  const Function& f = *match.function;
  const auto& call = *f.as<relay::OpCall>(match.root);
  const NodeId first = f.operands(match.root)[0];
  for (const NodeId operand : f.operands(match.root)) {
    if (!f.type(operand).is_tensor()) return Refusal{"an operand is not a tensor"};
    if (std::count(f.operands(match.root).begin(), f.operands(match.root).end(), operand) > 1) {
      return Refusal{"an operand is used twice"};
    }
  }
  if (is_scatter(call)) {
    return check_scatter(f, match.root);
  }
  if (call.op->compute != nullptr && length_of(call, f.type(first)) < kLongAxis) {
    return Refusal{fmt::format("a loop is as quick for fewer than {} elements", kLongAxis)};
  }
  return std::nullopt;
}

// One as the runtime's JSON reader takes it.
std::string text_of(const relay::AttrValue& value) {
  if (const auto* flag = value.as<bool>()) return *flag ? "1" : "0";
  if (const auto* number = value.as<std::int64_t>()) return std::to_string(*number);
  if (const auto* real = value.as<double>()) return fmt::format("{}", *real);
  if (const auto* text = value.as<std::string>()) return *text;
  return "";
}

// A region is one call of one composite of one operator.
struct Region {
  const Function& f;
  const relay::OpCall& call;
  std::vector<NodeId> operands;  // of the operator, as nodes outside of the composite
};

Region open_region(const Function& f) {
  const auto args = f.operands(f.result());
  const relay::Region& body = f.region(f.as<relay::Literal>(args[0])->body);
  Region region{f, *f.as<relay::OpCall>(body.result), {}};
  for (const NodeId operand : f.operands(body.result)) {
    const auto param = std::find(body.params.begin(), body.params.end(), operand);
    region.operands.push_back(args[static_cast<std::size_t>(param - body.params.begin()) + 1]);
  }
  return region;
}

// The caller passes the region's parameters, the function expects the operator's operands.
bool same_order(const Region& region) {
  const auto params = region.f.params();
  return std::equal(params.begin(), params.end(), region.operands.begin(), region.operands.end());
}

// The functions read sizes off their tensors: the graph says only what is known before.
Type with_known_sizes(const Type& type) {
  Shape shape = type.shape();
  for (Dim& dim : shape) {
    if (!dim.is_constant()) dim = Dim(-1);
  }
  return tensor_type(std::move(shape), type.dtype());
}

std::string graph_of(const Region& region) {
  JsonGraphWriter writer;
  std::vector<JsonGraphWriter::Entry> inputs;
  for (const NodeId operand : region.operands) {
    inputs.push_back(
        writer.input(fmt::format("x{}", inputs.size()), with_known_sizes(region.f.type(operand))));
  }
  JsonGraphWriter::Attributes attributes;
  for (const auto& [name, value] : region.call.attrs) attributes[name] = {text_of(value)};
  std::vector<Type> results = flatten(region.f.type(region.f.result()));
  for (Type& type : results) type = with_known_sizes(type);
  const auto kernel = writer.kernel(std::string(region.call.op->name), inputs, attributes, results);
  std::vector<JsonGraphWriter::Entry> heads;
  for (std::uint32_t i = 0; i < results.size(); ++i) heads.push_back({kernel.node, i});
  return writer.text(heads);
}

Artifact artifact_of(const std::string& symbol, const Region& region) {
  Artifact out;
  out.kind = ArtifactKind::kRuntimeModule;
  out.backend = kName;
  out.symbols = {symbol};
  out.payload = graph_of(region);
  out.runtime_archives = {"runtime_operators"};
  out.run_function = region.call.op->runtime_symbol;
  out.state.create_call_site = "tessera_operator_create";
  out.state.destroy_call_site = "tessera_operator_destroy";
  return out;
}

class RuntimeOperators final : public byoc::Backend {
 public:
  explicit RuntimeOperators(bool scatters) : scatters_(scatters) {}
  std::string_view name() const override { return kName; }

  std::vector<byoc::CompositePattern> patterns(const Target&) const override {
    std::vector<byoc::CompositePattern> out;
    for (const relay::Operator* op : ops::operators().all()) {
      const bool is_left = op->name.starts_with("scatter_") && !scatters_;
      if (op->runtime_symbol.empty() || is_left) continue;
      out.push_back({fmt::format("{}.{}", kName, op->name),
                     relay::is_op_any_args(std::string(op->name)), check});
    }
    return out;
  }

  Result<byoc::CompileOutcome> compile(Module module, const Target&,
                                       byoc::CompileContext&) const override {
    byoc::CompileOutcome out;
    for (const std::string& symbol : byoc::compiler_functions(module, kName)) {
      const Region region = open_region(module.functions.at(symbol));
      if (!same_order(region)) {
        out.declined.push_back(
            {symbol, error(Code::kBackendFailed, region.f.location,
                           "`{}` takes its operands in another order", region.call.op->name)});
        continue;
      }
      Artifact artifact = artifact_of(symbol, region);
      byoc::make_extern(module, symbol, std::move(artifact), {});
    }
    out.module = std::move(module);
    return out;
  }

 private:
  bool scatters_;
};

bool is_given_twice(const Function& f, std::span<const NodeId> operands, std::size_t i) {
  relay::ConstantMentions constants;
  const auto mention = [&](NodeId id) {
    const auto* constant = f.as<relay::Constant>(id);
    return constant == nullptr ? id.index() : constants.first(*constant, id.index());
  };
  bool found = false;
  for (std::size_t k = 0; k < i; ++k) found |= mention(operands[k]) == mention(operands[i]);
  return found;
}

Function with_distinct_operands(const Function& f) {
  const relay::Operator& copy = *ops::operators().find("copy");
  return relay::rewrite(f, [&](relay::Copier& c, NodeId id) -> std::optional<NodeId> {
    const relay::Operator* op = f.op(id);
    if (op == nullptr || op->runtime_symbol.empty() || op->compute != nullptr) return std::nullopt;
    std::vector<NodeId> operands = c.operands(id);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!is_given_twice(c.builder().peek(), operands, i)) continue;
      operands[i] = c.builder().call(copy, std::span(&operands[i], 1), {});
      c.builder().set_type(operands[i], f.type(f.operands(id)[i]));
    }
    return c.copy(id, operands);
  });
}

}  // namespace

Module with_distinct_operands(Module module) {
  for (auto& [name, f] : module.functions) {
    if (relay::is_optimizable(f)) f = with_distinct_operands(f);
  }
  return module;
}

const byoc::Backend& runtime_operators(bool on_gpu) {
  static const RuntimeOperators for_cpu(true), for_gpu(false);
  return on_gpu ? for_gpu : for_cpu;
}

bool is_runtime_operators(const byoc::Backend& backend) {
  return &backend == &runtime_operators(true) || &backend == &runtime_operators(false);
}

}  // namespace tessera::driver
