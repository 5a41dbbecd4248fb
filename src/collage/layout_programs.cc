// SPDX-License-Identifier: Apache-2.0
#include "collage/layout_programs.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"

namespace tessera::collage {
namespace {

using relay::Function;
using relay::NodeId;

constexpr std::string_view kPad = "nn.pad";

bool pads_anything(const Function& f) {
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (relay::is_call_of(f, NodeId(i), kPad)) return true;
  }
  return false;
}

// Parameters that are padded and nothing else, by the nodes that pad them.
std::map<NodeId, NodeId> padded_params(const Function& f) {
  const relay::Uses uses(f);
  std::map<NodeId, NodeId> out;
  for (const NodeId param : f.params()) {
    const auto users = uses.of(param);
    if (users.size() != 1 || uses.is_result(param)) continue;
    if (relay::is_call_of(f, users[0], kPad)) out.emplace(param, users[0]);
  }
  return out;
}

// The same function of operands that are padded already.
Function with_padded_params(const Function& f) {
  const std::map<NodeId, NodeId> pad_of = padded_params(f);
  if (pad_of.empty()) return f;
  std::set<NodeId> pads;
  for (const auto& [param, pad] : pad_of) pads.insert(pad);
  return relay::rewrite(f, [&](relay::Copier& c, NodeId id) -> std::optional<NodeId> {
    if (pads.contains(id)) return c.map(f.operands(id)[0]);
    const auto found = pad_of.find(id);
    if (found == pad_of.end()) return std::nullopt;
    const NodeId param = c.builder().param(f.as<relay::Param>(id)->name, f.type(found->second));
    c.builder().set_type(param, f.type(found->second));
    return param;
  });
}

}  // namespace

Result<std::vector<Function>> finished_programs(const Module& module,
                                                const std::vector<Function>& programs,
                                                const FinishLayouts& finish) {
  Module together;
  together.constants = module.constants;
  together.symbols = module.symbols;
  together.targets = module.targets;
  std::map<std::string, std::string> name_of;  // by text
  std::vector<std::string> names;
  for (const Function& program : programs) {
    const std::string text = program_text(program, module.constants);
    const auto [entry, is_new] =
        name_of.try_emplace(text, fmt::format("program_{:06}", name_of.size()));
    names.push_back(entry->second);
    if (!is_new) continue;
    Function& f = together.functions[entry->second] = program;
    f.attrs.set(std::string(relay::kEntryPoint), 1);
  }
  TESSERA_TRY(together, finish(std::move(together)));
  std::vector<Function> out;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    Function f = together.functions.at(names[i]);
    if (!pads_anything(programs[i])) f = with_padded_params(f);
    f.attrs = programs[i].attrs;
    out.push_back(std::move(f));
  }
  return out;
}

Result<Function> conversion_program(const Type& type, const passes::Permutation& axes) {
  relay::FunctionBuilder b;
  const NodeId value = b.param("FunctionVar_0", type);
  Module module;
  module.functions["main"] = b.finish(b.call(ops::op("transpose"), {value}, {{"axes", axes}}));
  TESSERA_TRY(module, ops::infer_types(std::move(module)));
  return module.functions.at("main");
}

bool is_view(const Type& type, const passes::Permutation& axes) {
  std::int64_t last = -1;
  for (const std::int64_t axis : axes) {
    if (type.shape()[static_cast<std::size_t>(axis)] == Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace tessera::collage
