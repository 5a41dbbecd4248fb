// SPDX-License-Identifier: Apache-2.0
// The pass `inline` (relay-spec 2.11); `inline` alone cannot name anything in C++.
#include <map>
#include <set>

#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;

std::set<std::string> references(const relay::Function& f) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (const auto* global = f.as<relay::GlobalRef>(NodeId(i))) names.insert(global->name);
  }
  return names;
}

class Inliner {
 public:
  explicit Inliner(Module& module) : module_(module) {
    for (const auto& [name, f] : module.functions) {
      references_[name] = references(f);
      referred_.insert(references_[name].begin(), references_[name].end());
    }
  }

  Result<void> run() {
    for (const std::string& name : callees_first()) {
      relay::Function& f = module_.functions.at(name);
      CheckContext context("in @" + name);
      f = relay::rewrite(f, [&](Copier& c, NodeId id) { return replace(c, id); });
      references_[name] = references(f);
    }
    return remove_inlined();
  }

 private:
  bool is_marked(const std::string& name) const {
    const auto it = module_.functions.find(name);
    return it != module_.functions.end() && it->second.attrs.int_or_zero("Inline") != 0;
  }

  // Marked functions that call nothing any more.
  bool is_inlined(const std::string& name) const {
    return is_marked(name) && references_.at(name).empty();
  }

  std::optional<NodeId> replace(Copier& c, NodeId id) {
    if (c.from().as<relay::ValueCall>(id) == nullptr) return std::nullopt;
    const auto* global = c.from().as<relay::GlobalRef>(c.from().operands(id)[0]);
    if (global == nullptr || !is_inlined(global->name)) return std::nullopt;
    const relay::Function& callee = module_.functions.at(global->name);
    std::vector<NodeId> arguments = c.operands(id);
    arguments.erase(arguments.begin());
    const bool keeps_literal =
        callee.attrs.find("Compiler") != nullptr || callee.attrs.int_or_zero("Extern") != 0;
    if (!keeps_literal) return relay::inline_call(c.builder(), callee, arguments);
    return c.builder().call_value(relay::embed(c.builder(), callee), arguments,
                                  c.from().as<relay::ValueCall>(id)->attrs);
  }

  // What no function of the module called is called from outside.
  bool is_entry(const std::string& name) const {
    return name == "main" || !referred_.contains(name);
  }

  // Every function after those that it refers to, except around cycles.
  std::vector<std::string> callees_first() const {
    std::vector<std::string> order, open;
    std::set<std::string> entered, left;
    for (const auto& [name, f] : module_.functions) {
      open.push_back(name);
      while (!open.empty()) {
        const std::string at = open.back();
        const bool first = entered.insert(at).second;
        if (!first) {
          open.pop_back();
          if (left.insert(at).second) order.push_back(at);
          continue;
        }
        for (const std::string& callee : references_.at(at)) {
          if (module_.functions.contains(callee) && !entered.contains(callee))
            open.push_back(callee);
        }
      }
    }
    return order;
  }

  bool is_recursive(const std::string& name) const {
    std::set<std::string> reached;
    std::vector<std::string> open(references_.at(name).begin(), references_.at(name).end());
    while (!open.empty()) {
      const std::string at = open.back();
      open.pop_back();
      if (at == name) return true;
      const auto it = references_.find(at);
      if (!reached.insert(at).second || it == references_.end()) continue;
      open.insert(open.end(), it->second.begin(), it->second.end());
    }
    return false;
  }

  Result<void> remove_inlined() {
    std::set<std::string> removed;
    for (const auto& [name, f] : module_.functions) {
      if (!is_entry(name) && is_marked(name) && !is_recursive(name)) removed.insert(name);
    }
    Diagnostics errors;
    for (const auto& [name, f] : module_.functions) {
      if (removed.contains(name)) continue;
      for (const std::string& used : references_.at(name)) {
        if (removed.contains(used)) errors.add(not_inlined(used, name));
      }
    }
    if (!errors.empty()) return fail(std::move(errors));
    for (const std::string& name : removed) module_.functions.erase(name);
    return {};
  }

  Diagnostic not_inlined(const std::string& name, const std::string& user) const {
    const relay::Function& f = module_.functions.at(name);
    const std::string why = references_.at(name).empty()
                                ? "`@" + user + "` uses it as a value"
                                : "it refers to `@" + *references_.at(name).begin() + "`";
    return error(Code::kMalformedGraph, f.location, "`@{}` is marked `Inline` but not inlined: {}",
                 name, why)
        .with_remedy("mark what it calls as `Inline` too, or remove the attribute");
  }

  Module& module_;
  std::map<std::string, std::set<std::string>> references_;  // to globals, by function
  std::set<std::string> referred_;  // globals that something referred to at first
};

Result<Module> run_inline_calls(Module module, PassContext&) {
  TESSERA_TRY_VOID(Inliner(module).run());
  return module;
}

}  // namespace

extern const Pass inline_calls;
const Pass inline_calls{
    .name = "inline",
    .summary = "puts the bodies of functions marked `Inline` in place of their calls",
    .needs_types = false,
    .run = run_inline_calls,
};

}  // namespace tessera::passes
