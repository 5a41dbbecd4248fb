// SPDX-License-Identifier: Apache-2.0
#include "byoc/outline.h"

#include <map>

#include "relay/inline_literals.h"
#include "relay/rewrite.h"

namespace tessera::byoc {

using relay::Copier;
using relay::Function;
using relay::NodeId;

bool is_compiler_function(const relay::Attrs& attrs, std::string_view compiler) {
  const relay::AttrValue* value = attrs.find("Compiler");
  const std::string* name = value != nullptr ? value->as<std::string>() : nullptr;
  return name != nullptr && (compiler.empty() || *name == compiler);
}

namespace {

// One caller; what it outlines goes into the module.
class Outliner {
 public:
  Outliner(Module& module, GlobalSymbolCache& symbols, std::string_view compiler)
      : module_(module), symbols_(symbols), compiler_(compiler) {}

  Function run(const Function& f) {
    return relay::rewrite(f, [&](Copier& c, NodeId id) { return replace(c, id); });
  }

  Diagnostics errors;

 private:
  // The function of interest that a new node is; else null.
  const relay::Literal* literal(Copier& c, NodeId fresh) const {
    const auto* l = c.builder().peek().as<relay::Literal>(fresh);
    return l != nullptr && is_compiler_function(l->attrs, compiler_) ? l : nullptr;
  }

  std::optional<NodeId> replace(Copier& c, NodeId id) {
    const Function& f = c.from();
    if (f.as<relay::Let>(id) != nullptr) {
      const NodeId value = c.map(f.operands(id)[0]);
      return literal(c, value) != nullptr ? std::optional(value) : std::nullopt;
    }
    const auto* call = f.as<relay::ValueCall>(id);
    if (call == nullptr) return std::nullopt;
    std::vector<NodeId> operands = c.operands(id);
    if (literal(c, operands[0]) == nullptr) return std::nullopt;
    const std::optional<std::string> symbol = define(c.builder().peek(), operands[0]);
    if (!symbol) return std::nullopt;
    const NodeId global = c.builder().global(*symbol);
    c.builder().set_type(global, c.builder().peek().type(operands[0]));
    operands[0] = global;
    c.builder().at(f[id].location);
    return c.copy(id, operands);
  }

  // Nodes are copied from the new function, in which inner ones are globals already.
  std::optional<std::string> define(const Function& in, NodeId literal) {
    Function function = relay::outline(in, literal);
    Result<std::string> symbol = symbols_.symbol_of(function);
    if (!symbol) {
      errors.add(std::move(symbol).error());
      return std::nullopt;
    }
    if (!module_.functions.contains(*symbol) && !module_.prim_funcs.contains(*symbol)) {
      function.attrs.set("global_symbol", *symbol);
      // Inference completes signatures of globals, not those of literals.
      if (!function.result_annotation)
        function.result_annotation = function.type(function.result());
      module_.functions.emplace(*symbol, std::move(function));
    }
    return *symbol;
  }

  Module& module_;
  GlobalSymbolCache& symbols_;
  const std::string_view compiler_;
};

}  // namespace

Result<Module> outline_functions(Module module, GlobalSymbolCache& symbols,
                                 std::string_view compiler) {
  std::vector<std::string> callers;
  for (const auto& [name, f] : module.functions) {
    if (relay::is_optimizable(f)) callers.push_back(name);
  }
  Outliner outliner(module, symbols, compiler);
  for (const std::string& name : callers) {
    CheckContext context("in @" + name);
    // Outlining adds functions to the map, which leaves the others where they are.
    Function& f = module.functions.at(name);
    f = outliner.run(f);
  }
  if (!outliner.errors.empty()) return fail(std::move(outliner.errors));
  return module;
}

Module mark_functions_as_extern(Module module, std::string_view compiler) {
  for (auto& [name, f] : module.functions) {
    if (is_compiler_function(f.attrs, compiler)) f.attrs = {{"Extern", 1}};
  }
  return module;
}

namespace {

// Puts bodies in place of calls; itself free of calls that would be left behind.
class Dissolver {
 public:
  Dissolver(Module module, const std::set<std::string>& symbols)
      : module_(std::move(module)), symbols_(symbols) {}

  Result<Module> run() {
    for (const std::string& symbol : symbols_) check_symbol(symbol);
    if (!errors_.empty()) return fail(std::move(errors_));
    for (const std::string& symbol : symbols_) prepare(symbol);
    if (!errors_.empty()) return fail(std::move(errors_));
    for (const std::string& symbol : symbols_) module_.functions.erase(symbol);
    for (auto& [name, f] : module_.functions) {
      if (relay::is_optimizable(f)) f = with_bodies(f);
      check_unused(name, f);
    }
    if (!errors_.empty()) return fail(std::move(errors_));
    return std::move(module_);
  }

 private:
  void check_symbol(const std::string& symbol) {
    const auto found = module_.functions.find(symbol);
    if (found == module_.functions.end()) {
      errors_.add(error(Code::kUnknownName, {}, "there is no function `@{}`", symbol)
                      .with_remedy("name global functions that have the attribute `Compiler`"));
    } else if (!is_compiler_function(found->second.attrs, "")) {
      errors_.add(error(Code::kWrongAttribute, found->second.location,
                        "`@{}` is not a compiler function: it has no attribute `Compiler`",
                        symbol));
    }
  }

  // Makes the body that takes the place of calls, after those of the listed functions that it calls
  // itself.
  void prepare(const std::string& root) {
    struct Open {
      std::string symbol;
      std::vector<std::string> callees;
      std::size_t next = 0;
    };
    std::vector<Open> stack;
    const auto enter = [&](const std::string& symbol) {
      if (bodies_.contains(symbol)) return;
      if (!entered_.insert(symbol).second) {
        errors_.add(error(Code::kNotSupported, module_.functions.at(symbol).location,
                          "`@{}` calls itself: recursive functions cannot be inlined", symbol));
        return;
      }
      const std::set<std::string> callees = listed_callees(module_.functions.at(symbol));
      stack.push_back({symbol, {callees.begin(), callees.end()}});
    };
    enter(root);
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.next < top.callees.size()) {
        enter(std::string(top.callees[top.next++]));
      } else {
        bodies_.emplace(top.symbol, with_bodies(without_composites(top.symbol)));
        stack.pop_back();
      }
    }
  }

  std::set<std::string> listed_callees(const Function& f) const {
    std::set<std::string> out;
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const auto* global = f.as<relay::GlobalRef>(NodeId{i});
      if (global != nullptr && symbols_.contains(global->name)) out.insert(global->name);
    }
    return out;
  }

  Function without_composites(const std::string& symbol) {
    const Function& f = module_.functions.at(symbol);
    return relay::inline_literals(f, [&](NodeId call, const relay::Literal& literal) {
      if (literal.attrs.find("Composite") != nullptr) return true;
      errors_.add(error(Code::kWrongAttribute, f[call].location,
                        "`@{}` calls a function literal without `Composite`: only composites are "
                        "inlined",
                        symbol));
      return false;
    });
  }

  Function with_bodies(const Function& f) const {
    return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      const bool is_let = f.as<relay::Let>(id) != nullptr;
      if (!is_let && f.as<relay::ValueCall>(id) == nullptr) return std::nullopt;
      const std::vector<NodeId> operands = c.operands(id);
      const auto* global = c.builder().peek().as<relay::GlobalRef>(operands[0]);
      const auto body = global != nullptr ? bodies_.find(global->name) : bodies_.end();
      if (body == bodies_.end()) return std::nullopt;
      if (is_let) return operands[0];
      return relay::inline_call(c.builder(), body->second, std::span(operands).subspan(1));
    });
  }

  void check_unused(const std::string& name, const Function& f) {
    for (const std::string& symbol : listed_callees(f)) {
      errors_.add(error(Code::kNotSupported, f.location,
                        "`@{}` still uses `@{}`, which is to be inlined: only calls in functions "
                        "without `Compiler`, `Extern` and `SkipOptimization` are replaced",
                        name, symbol));
    }
  }

  Module module_;
  const std::set<std::string>& symbols_;
  std::map<std::string, Function> bodies_;
  std::set<std::string> entered_;
  Diagnostics errors_;
};

}  // namespace

Result<Module> inline_functions(Module module, const std::set<std::string>& symbols) {
  if (symbols.empty()) return module;
  return Dissolver(std::move(module), symbols).run();
}

}  // namespace tessera::byoc
