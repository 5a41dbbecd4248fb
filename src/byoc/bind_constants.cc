// SPDX-License-Identifier: Apache-2.0
// Arguments of compiler functions that are one constant at all calls move into their bodies.
#include <map>

#include "byoc/callees.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"
#include "relay/evaluation_order.h"

namespace tessera::byoc {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

// What one parameter receives.
struct Received {
  std::optional<ConstantValue> constant;
  bool varies = false;
};

class Binder {
 public:
  Binder(Module module, const std::set<std::string>& symbols)
      : module_(std::move(module)), symbols_(symbols) {}

  Module run() {
    // What is bound in one function may be the argument of another: a round for each level.
    while (look_at_calls()) {
      for (auto& [name, f] : module_.functions) {
        CheckContext context("in @" + name);
        f = rewritten(name, f);
      }
    }
    return std::move(module_);
  }

 private:
  bool is_bound(const std::string& symbol, std::size_t i) const {
    const Received& r = received_.at(symbol)[i];
    return r.constant.has_value() && !r.varies;
  }

  // Is there something to bind?
  bool look_at_calls() {
    received_.clear();
    for (const std::string& symbol : symbols_) {
      received_[symbol].resize(module_.functions.at(symbol).params().size());
    }
    for (const auto& [name, f] : module_.functions) {
      for (std::size_t i = 0; i < f.num_nodes(); ++i) {
        if (const std::string* callee = called_function(f, NodeId{i}, symbols_)) {
          look_at_call(name, f, NodeId{i}, *callee);
        }
      }
    }
    for (const std::string& symbol : symbols_) {
      for (std::size_t i = 0; i < received_[symbol].size(); ++i) {
        if (is_bound(symbol, i)) return true;
      }
    }
    return false;
  }

  void look_at_call(const std::string& caller, const Function& f, NodeId call,
                    const std::string& callee) {
    const auto arguments = f.operands(call).subspan(1);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      Received& r = received_[callee][i];
      const NodeId given = relay::behind_lets(f, arguments[i]);
      // A recursive call that hands on what it got says nothing new.
      if (caller == callee && given == f.params()[i]) continue;
      const auto* constant = f.as<relay::Constant>(given);
      if (constant == nullptr) {
        r.varies = true;
      } else if (!r.constant) {
        r.constant = constant->value;
      } else if (!(module_.constants.resolve(*r.constant) ==
                   module_.constants.resolve(constant->value))) {
        r.varies = true;
      }
    }
  }

  Function rewritten(const std::string& name, const Function& f) const {
    std::map<NodeId, const ConstantValue*> bound;
    if (symbols_.contains(name)) {
      for (std::size_t i = 0; i < f.params().size(); ++i) {
        if (is_bound(name, i)) bound[f.params()[i]] = &*received_.at(name)[i].constant;
      }
    }
    return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      if (const auto param = bound.find(id); param != bound.end()) {
        return c.builder().constant(*param->second);
      }
      if (const auto* let = f.as<relay::Let>(id)) {
        const auto* global = f.as<relay::GlobalRef>(relay::behind_lets(f, id));
        if (global == nullptr || !symbols_.contains(global->name)) return std::nullopt;
        return c.builder().let(let->name, c.map(f.operands(id)[0]));
      }
      const std::string* callee = called_function(f, id, symbols_);
      if (callee == nullptr) return std::nullopt;
      const std::vector<NodeId> operands = c.operands(id);
      std::vector<NodeId> left{operands[0]};
      for (std::size_t i = 1; i < operands.size(); ++i) {
        if (!is_bound(*callee, i - 1)) left.push_back(operands[i]);
      }
      return c.copy(id, left);
    });
  }

  Module module_;
  const std::set<std::string>& symbols_;
  std::map<std::string, std::vector<Received>> received_;  // by parameter
};

Result<Module> run_bind_constants(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<CompilerOptions>(context.options);
  const std::set<std::string> symbols =
      changeable_functions(module, options.compiler, context.warnings);
  return ops::infer_types(Binder(std::move(module), symbols).run());
}

}  // namespace

extern const passes::Pass bind_constants;
const passes::Pass bind_constants{
    .name = "bind-constants",
    .summary = "moves constants that every call passes into functions with `Compiler`",
    .options = relay::attr_schema<CompilerOptions>,
    .run = run_bind_constants,
};

}  // namespace tessera::byoc
