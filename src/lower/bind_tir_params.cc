// SPDX-License-Identifier: Apache-2.0
// The inverse of hoist-constants-to-main.
#include <algorithm>
#include <set>

#include "lower/loop_calls.h"
#include "lower/loop_constants.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

struct BindTirParamsOptions {
  std::vector<std::string> names;
  static constexpr auto fields = std::tuple{relay::attr("names", &BindTirParamsOptions::names)};
};

// The loop functions and inputs that a list names; all where it is empty.
class Selection {
 public:
  explicit Selection(const std::vector<std::string>& names) {
    for (const std::string& n : names) names_.insert(n.starts_with('@') ? n.substr(1) : n);
  }
  bool has(const std::string& name) const { return names_.contains(name); }
  bool has(const std::string& symbol, const tir::Buffer& input) const {
    return names_.empty() || has(symbol) || has(input->name);
  }
  // An error for each name that nothing in the module has.
  Diagnostics unknown(const Module& module) const {
    std::set<std::string> left = names_;
    for (const auto& [symbol, f] : module.prim_funcs) {
      left.erase(symbol);
      for (const tir::Buffer& input : f.inputs) left.erase(input->name);
      // Those that are bound already.
      for (const LoopConstant& c : constant_definitions(f.body)) left.erase(c.buffer->name);
    }
    Diagnostics errors;
    for (const std::string& name : left) {
      errors.add(error(Code::kUnknownName, {},
                       "`names` has `{}`, which is neither a loop function nor an input of one",
                       name));
    }
    return errors;
  }

 private:
  std::set<std::string> names_;
};

bool has_numbers_only(const tir::Buffer& b) {
  return tir::constant_size(b) >= 0 && b->strides.empty();
}

// The constant that every call gives for an input, in the pool.
std::optional<ConstantIndex> same_in_all(const std::vector<GivenConstants>& calls, std::size_t i,
                                         ConstantPool& pool) {
  const auto& first = calls.front()[i];
  if (!first) return std::nullopt;
  const bool same = std::all_of(calls.begin(), calls.end(), [&](const GivenConstants& call) {
    return call[i] && pool.resolve(*call[i]) == pool.resolve(*first);
  });
  return same ? std::optional(pool.add(pool.resolve(*first))) : std::nullopt;
}

Diagnostic not_bound(const std::string& symbol, const tir::Buffer& input) {
  return error(Code::kNotSupported, {},
               "the input `{}` of `@{}` cannot be bound: not all calls give it one constant",
               input->name, symbol)
      .with_remedy("leave it out of `names`");
}

// The function without the inputs that are bound; their constants stand before all else.
void bind_inputs(tir::PrimFunc& f, const std::vector<std::optional<ConstantIndex>>& bound) {
  std::vector<tir::Buffer> rest;
  std::vector<std::pair<tir::Buffer, ConstantIndex>> constants;
  tir::BufferMap replaced;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const tir::Buffer& input = f.inputs[i];
    if (!bound[i]) {
      rest.push_back(input);
      continue;
    }
    const auto constant =
        tir::make_buffer(input->name, input->dtype, input->shape, tir::MemoryScope::kConstant);
    replaced[input.get()] = constant;
    constants.emplace_back(constant, *bound[i]);
  }
  f.body = tir::substitute(f.body, {}, replaced);
  for (auto it = constants.rbegin(); it != constants.rend(); ++it) {
    f.body = tir::AllocateConst::make(it->first, ConstantValue(it->second), f.body);
  }
  f.inputs = std::move(rest);
}

Result<Module> run_bind_tir_params(Module module, passes::PassContext& context) {
  const Selection selection(relay::read_attrs<BindTirParamsOptions>(context.options).names);
  Diagnostics errors = selection.unknown(module);
  std::map<std::string, InputChange> changes;
  for (const auto& [symbol, calls] : calls_of_loops(module)) {
    tir::PrimFunc& f = module.prim_funcs.at(symbol);
    std::vector<std::optional<ConstantIndex>> bound(f.inputs.size());
    InputChange change{std::vector<bool>(f.inputs.size()),
                       [](const GivenConstants&) { return std::vector<ConstantIndex>(); }};
    for (std::size_t i = 0; i < f.inputs.size(); ++i) {
      if (!selection.has(symbol, f.inputs[i])) continue;
      if (has_numbers_only(f.inputs[i])) bound[i] = same_in_all(calls, i, module.constants);
      change.leaves[i] = bound[i].has_value();
      if (!bound[i] && selection.has(f.inputs[i]->name)) errors.add(not_bound(symbol, f.inputs[i]));
    }
    if (std::find(change.leaves.begin(), change.leaves.end(), true) == change.leaves.end())
      continue;
    bind_inputs(f, bound);
    changes.emplace(symbol, std::move(change));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return ops::infer_types(change_calls(std::move(module), changes));
}

}  // namespace

extern const passes::Pass bind_tir_params;
const passes::Pass bind_tir_params{
    .name = "bind-tir-params",
    .summary = "makes constants of inputs of loop functions that every call gives the same one",
    .options = relay::attr_schema<BindTirParamsOptions>,
    .run = run_bind_tir_params,
};

}  // namespace tessera::lower
