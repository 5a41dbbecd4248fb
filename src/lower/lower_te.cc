// SPDX-License-Identifier: Apache-2.0
// The pass `lower-te` (relay-spec 7): primitive functions become loop functions, and calls of what
// is lowered, or somebody else's, calls of the one form `call_lowered(@symbol, (arguments), ...)`.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "lower/lowered_call.h"
#include "lower/primitive.h"
#include "lower/shape_function.h"
#include "lower/te_names.h"
#include "module/name_supply.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/evaluation_order.h"
#include "relay/function_attributes.h"
#include "relay/inline_literals.h"
#include "relay/operator.h"
#include "relay/rewrite.h"
#include "relay/structural_equal.h"
#include "types/dim.h"
#include "types/target_list.h"

namespace tessera::lower {
namespace {

using relay::AttrArray;
using relay::AttrValue;
using relay::Copier;
using relay::Function;
using relay::is_primitive;
using relay::NodeId;

constexpr relay::AttrRule kIdentifier{
    "a C identifier: symbols begin with it", [](const relay::AttrValue& v) {
      return is_symbol_name(relay::AttrCodec<std::string>::decode(v));
    }};

struct LowerTeOptions {
  std::string module_name;
  static constexpr auto fields =
      std::tuple{relay::required_attr("module_name", &LowerTeOptions::module_name, kIdentifier)};
};

bool has_compiler(const relay::Attrs& attrs) { return attrs.find("Compiler") != nullptr; }

// A function under the symbol that lowered calls name; equal functions have one entry.
struct Lowered {
  Function function;
  std::string symbol;
  relay::Attrs metadata;  // of the calls, but for `relay_attrs`
};

class TeLowering {
 public:
  TeLowering(Module module, std::string module_name, const relay::OperatorTable& operators)
      : module_(std::move(module)),
        module_name_(std::move(module_name)),
        names_(module_),
        call_lowered_(operators.find("call_lowered")) {
    TESSERA_CHECK(call_lowered_ != nullptr, "the operator `call_lowered` is missing");
  }

  Result<Module> run() {
    TESSERA_TRY_VOID(choose_targets());
    make_stubs();
    std::vector<std::string> callers;
    for (const auto& [name, f] : module_.functions) {
      if (relay::is_optimizable(f) && !is_primitive(f.attrs)) callers.push_back(name);
    }
    for (const std::string& name : callers) {
      CheckContext context("in @" + name);
      lower_calls_of(name);
    }
    if (!errors_.empty()) return fail(std::move(errors_));
    remove_lowered_globals();
    return ops::infer_types(std::move(module_));
  }

 private:
  Result<void> choose_targets() {
    if (module_.targets.empty()) return {};
    TESSERA_TRY(const CompilationTargets targets, resolve_targets(module_.targets));
    host_ = short_text(targets.host);
    const Target* device = targets.find_device(targets.default_device);
    primitive_ = device != nullptr ? short_text(*device) : host_;
    return {};
  }

  // Global functions of back ends become externs under their symbol, bodies kept for the shapes.
  void make_stubs() {
    std::vector<std::string> names;
    for (const auto& [name, f] : module_.functions) {
      if (has_compiler(f.attrs) && is_primitive(f.attrs)) names.push_back(name);
    }
    for (const std::string& name : names) {
      Function f = std::move(module_.functions.at(name));
      module_.functions.erase(name);
      if (const auto symbol = stub(f)) {
        originals_.emplace(name, std::pair(*symbol, std::move(f)));
      }
    }
  }

  // The symbol of a back end's function, with its `Extern=1` definition in the module.
  std::optional<std::string> stub(const Function& f) {
    const std::string symbol = f.attrs.string_or_empty("global_symbol");
    if (symbol.empty()) {
      errors_.add(error(Code::kWrongAttribute, f.location,
                        "a function with `Compiler=\"{}\"` has no attribute `global_symbol`, under "
                        "which it is called once it is lowered",
                        f.attrs.string_or_empty("Compiler")));
      return std::nullopt;
    }
    Function made = f;
    made.attrs = {{"Extern", 1}};
    if (!made.result_annotation) made.result_annotation = made.type(made.result());
    const auto known = module_.functions.find(symbol);
    if (known == module_.functions.end() && !module_.prim_funcs.contains(symbol)) {
      names_.take(symbol);
      module_.functions.emplace(symbol, std::move(made));
      return symbol;
    }
    const bool same =
        known != module_.functions.end() &&
        relay::structural_equal(known->second, made, {&module_.constants, &module_.constants});
    if (!same) {
      errors_.add(error(Code::kDuplicateName, f.location,
                        "two different functions would be called `@{}`", symbol)
                      .with_remedy("give one of them another `global_symbol`"));
      return std::nullopt;
    }
    return symbol;
  }

  void lower_calls_of(const std::string& name) {
    const Function f = module_.functions.at(name);
    const std::vector<relay::RegionId> closed = passes::closed_bodies(f);
    Function rest = relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      if (closed[f[id].region.index()]) return std::nullopt;
      if (f.as<relay::Let>(id) != nullptr) {
        const NodeId value = relay::behind_lets(f, id);
        return is_lowered(f, value) ? std::optional(c.map(value)) : std::nullopt;
      }
      return f.as<relay::ValueCall>(id) != nullptr ? lower_call(c, id) : std::nullopt;
    });
    module_.functions.at(name) = std::move(rest);
  }

  // A primitive function: its names go, too.
  bool is_lowered(const Function& f, NodeId callee) const {
    if (const auto* literal = f.as<relay::Literal>(callee)) return is_primitive(literal->attrs);
    const auto* global = f.as<relay::GlobalRef>(callee);
    if (global == nullptr) return false;
    const auto known = module_.functions.find(global->name);
    return originals_.contains(global->name) ||
           (known != module_.functions.end() && is_primitive(known->second.attrs));
  }

  // The six forms of callees (relay-spec 7.2).
  std::optional<NodeId> lower_call(Copier& c, NodeId id) {
    const Function& f = c.from();
    const NodeId callee = relay::behind_lets(f, f.operands(id)[0]);
    if (const auto* literal = f.as<relay::Literal>(callee)) {
      if (!is_primitive(literal->attrs)) return std::nullopt;
      const Function function = relay::outline(f, callee);
      if (!has_compiler(literal->attrs)) return call_primitive(c, id, function);
      const auto symbol = stub(function);
      return symbol ? call_extern(c, id, *symbol, function) : std::nullopt;
    }
    const auto* global = f.as<relay::GlobalRef>(callee);
    if (global == nullptr) return std::nullopt;
    if (const auto known = originals_.find(global->name); known != originals_.end()) {
      return call_extern(c, id, known->second.first, known->second.second);
    }
    if (const auto loops = module_.prim_funcs.find(global->name);
        loops != module_.prim_funcs.end()) {
      return call_loops(c, id, global->name, loops->second);
    }
    const auto known = module_.functions.find(global->name);
    if (known == module_.functions.end()) return std::nullopt;
    const Function function = known->second;
    if (function.attrs.int_or_zero("Extern") != 0) {
      return call_extern(c, id, global->name, function);
    }
    if (!is_primitive(function.attrs) || !relay::is_optimizable(function)) return std::nullopt;
    lowered_globals_.insert(global->name);
    return call_primitive(c, id, function);
  }

  std::optional<NodeId> call_primitive(Copier& c, NodeId id, const Function& function) {
    const Function body = relay::inline_literals(function);
    const relay::OpCall* only = body.as<relay::OpCall>(body.result());
    if (only != nullptr && only->op->name == "device_copy") {
      const NodeId argument = c.operands(id)[1];
      const NodeId call = c.builder().call(*only->op, {argument}, only->attrs);
      c.builder().set_type(call, c.from().type(id));
      return call;
    }
    const Lowered* lowered = lower_function(function, body);
    if (lowered == nullptr) return std::nullopt;
    return lowered_call(c, *call_lowered_, id, lowered->symbol, function.attrs, lowered->metadata,
                        Passing::kFlat);
  }

  // Sizes that are known at run time are formal dimensions.
  Result<tir::PrimFunc> loops_of(const Function& body) {
    TESSERA_TRY(const Function named, with_names_for_sizes(body, module_.constants));
    return lower_primitive(named, Function::kBody, module_.constants);
  }

  // Equal functions share one loop function.
  const Lowered* lower_function(const Function& function, const Function& body) {
    std::vector<Lowered>& same_hash =
        by_hash_[relay::structural_hash(function, &module_.constants)];
    for (const Lowered& known : same_hash) {
      if (relay::structural_equal(known.function, function,
                                  {&module_.constants, &module_.constants})) {
        return &known;
      }
    }
    Result<tir::PrimFunc> kernel = loops_of(body);
    if (!kernel) {
      errors_.add(std::move(kernel).error());
      return nullptr;
    }
    kernel->attrs["target"] = primitive_;
    const std::string hash = function.attrs.string_or_empty("hash");
    if (!hash.empty()) kernel->attrs["hash"] = hash;
    Lowered made;
    made.function = function;
    made.symbol = names_.fresh(fused_name(module_name_, operator_names(function)));
    made.metadata.set("all_prim_fn_vars", AttrArray{AttrValue(made.symbol)});
    if (function.attrs.int_or_zero("relay.reshape_only") != 0) {
      made.metadata.set("relay.reshape_only", 1);
    }
    if (!add_shape_function(function, made.metadata)) return nullptr;
    module_.prim_funcs.emplace(made.symbol, std::move(*kernel));
    return &same_hash.emplace_back(std::move(made));
  }

  std::optional<NodeId> call_extern(Copier& c, NodeId id, const std::string& symbol,
                                    const Function& function) {
    relay::Attrs metadata{{"all_prim_fn_vars", AttrArray{}}};
    if (!add_shape_function(function, metadata)) return std::nullopt;
    return lowered_call(c, *call_lowered_, id, symbol, function.attrs, metadata, Passing::kAsIs);
  }

  std::optional<NodeId> call_loops(Copier& c, NodeId id, const std::string& symbol,
                                   const tir::PrimFunc& loops) {
    relay::Attrs attrs;
    for (const auto& [key, value] : loops.attrs) attrs.set(key, value);
    if (attrs.find("target") == nullptr) {
      errors_.add(error(Code::kWrongAttribute, c.from()[id].location,
                        "the loop function `@{}` has no attribute `target`", symbol));
      return std::nullopt;
    }
    const relay::Attrs metadata{{"all_prim_fn_vars", AttrArray{AttrValue(symbol)}}};
    return lowered_call(c, *call_lowered_, id, symbol, attrs, metadata, Passing::kFlat);
  }

  // What tells the caller how large the results are, where types do not; false on an error.
  bool add_shape_function(const Function& function, relay::Attrs& metadata) {
    const Type result =
        function.result_annotation ? function.result_annotation : function.type(function.result());
    if (!is_dynamic(result)) return true;
    auto& same_hash = shapes_by_hash_[relay::structural_hash(function, &module_.constants)];
    auto known = std::find_if(same_hash.begin(), same_hash.end(), [&](const Lowered& l) {
      return relay::structural_equal(l.function, function,
                                     {&module_.constants, &module_.constants});
    });
    if (known == same_hash.end()) {
      auto shape = derive_shape_function(function, module_.constants);
      if (!shape) {
        errors_.add(std::move(shape).error());
        return false;
      }
      known = same_hash.insert(known, named_shape_function(function, std::move(*shape)));
    }
    for (const auto& [key, value] : known->metadata) metadata.set(key, value);
    return true;
  }

  Lowered named_shape_function(const Function& function, ShapeFunction shape) {
    Lowered made;
    made.function = function;
    made.symbol = names_.fresh(shape_function_name(module_name_, shape.operators));
    AttrArray states(shape.states.begin(), shape.states.end());
    const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
    made.metadata = {{"prim_shape_fn_var", made.symbol},
                     {"prim_shape_fn_states", std::move(states)},
                     {"prim_shape_fn_num_inputs", count(shape.func.inputs)},
                     {"prim_shape_fn_num_outputs", count(shape.func.outputs)},
                     {"all_prim_shape_fn_vars", AttrArray{AttrValue(made.symbol)}}};
    shape.func.attrs["target"] = host_;
    module_.prim_funcs.emplace(made.symbol, std::move(shape.func));
    return made;
  }

  // Primitive globals that are loop functions now, unless something else still uses them.
  void remove_lowered_globals() {
    for (const auto& [name, f] : module_.functions) {
      for (std::size_t i = 0; i < f.num_nodes(); ++i) {
        const auto* global = f.as<relay::GlobalRef>(NodeId{i});
        if (global != nullptr && global->name != name) lowered_globals_.erase(global->name);
      }
    }
    for (const std::string& name : lowered_globals_) module_.functions.erase(name);
  }

  Module module_;
  const std::string module_name_;
  NameSupply names_;
  const relay::Operator* call_lowered_;
  std::string host_ = "cpu", primitive_ = "cpu";
  std::map<std::string, std::pair<std::string, Function>> originals_;  // of stubs, by global name
  std::set<std::string> lowered_globals_;
  std::unordered_map<std::uint64_t, std::vector<Lowered>> by_hash_;         // never iterated
  std::unordered_map<std::uint64_t, std::vector<Lowered>> shapes_by_hash_;  // never iterated
  Diagnostics errors_;
};

Result<Module> run_lower_te(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<LowerTeOptions>(context.options);
  return TeLowering(std::move(module), options.module_name, context.operators).run();
}

}  // namespace

extern const passes::Pass lower_te;
const passes::Pass lower_te{
    .name = "lower-te",
    .summary = "makes loop functions of primitive functions, and lowered calls of their calls",
    .options = relay::attr_schema<LowerTeOptions>,
    .run = run_lower_te,
};

}  // namespace tessera::lower
