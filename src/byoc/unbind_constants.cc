// SPDX-License-Identifier: Apache-2.0
// Constants of compiler functions become arguments: signatures and calls change together.
#include <map>
#include <unordered_map>

#include "byoc/callees.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"
#include "relay/evaluation_order.h"
#include "relay/function_attributes.h"

namespace tessera::byoc {
namespace {

using relay::Copier;
using relay::Function;
using relay::FunctionBuilder;
using relay::NodeId;

// Constants in order of first use, equal ones once.
class ConstantList {
 public:
  void add(const ConstantValue& value, const ConstantPool& pool) {
    if (distinct_.add(pool.resolve(value)).index() == values_.size()) values_.push_back(value);
  }
  std::size_t position(const Tensor& tensor) { return distinct_.add(tensor).index(); }
  const std::vector<ConstantValue>& values() const { return values_; }

 private:
  ConstantPool distinct_;
  std::vector<ConstantValue> values_;
};

// By region: is it inside a closed literal, and inside one that is more than called and so keeps
// what it has?
struct ClosedRegions {
  std::vector<bool> closed, fixed;

  explicit ClosedRegions(const Function& f) : closed(f.num_regions()), fixed(f.num_regions()) {
    const relay::Uses uses(f);
    for (std::size_t i = 1; i < f.num_regions(); ++i) {
      const relay::Region& region = f.region(relay::RegionId{i});
      if (!region.owner) continue;
      closed[i] = closed[region.parent.index()];
      fixed[i] = fixed[region.parent.index()];
      const auto* literal = f.as<relay::Literal>(region.owner);
      if (literal == nullptr || !relay::is_closed(literal->attrs)) continue;
      closed[i] = true;
      if (!is_only_called(f, uses, region.owner)) fixed[i] = true;
    }
  }
};

class Unbinder {
 public:
  Unbinder(Module module, std::set<std::string> symbols)
      : module_(std::move(module)), symbols_(std::move(symbols)) {}

  Module run() {
    // A function needs what it calls needs; more than one round only where they call each other.
    for (bool again = true; again;) {
      again = false;
      for (const std::string& symbol : symbols_) again |= collect(symbol);
    }
    for (auto& [name, f] : module_.functions) {
      CheckContext context("in @" + name);
      f = rewritten(f, symbols_.contains(name) ? &needs_[name] : nullptr);
    }
    return std::move(module_);
  }

 private:
  bool is_movable(const Function& f, NodeId id) const {
    const auto* constant = f.as<relay::Constant>(id);
    return constant != nullptr && !module_.constants.resolve(constant->value).is_scalar();
  }

  bool collect(const std::string& symbol) {
    const Function& f = module_.functions.at(symbol);
    ConstantList& list = needs_[symbol];
    const std::size_t before = list.values().size();
    const ClosedRegions regions(f);
    for (const NodeId id : relay::evaluation_order(f)) {
      if (regions.fixed[f[id].region.index()]) continue;
      if (is_movable(f, id)) {
        list.add(f.as<relay::Constant>(id)->value, module_.constants);
      } else if (const std::string* callee = called_function(f, id, symbols_)) {
        const std::vector<ConstantValue> passed = needs_[*callee].values();
        for (const ConstantValue& value : passed) list.add(value, module_.constants);
      }
    }
    return list.values().size() != before;
  }

  // The function with parameters for `own`, if given, and with calls of changed functions changed.
  class Rewrite {
   public:
    Rewrite(Unbinder& all, const Function& f, ConstantList* own)
        : all_(all), f_(f), own_(own), regions_(f), copier_(f, builder_, true) {}

    Function run() {
      copier_.run(Function::kBody, f_.params());
      if (own_ != nullptr)
        params_ = append_params(builder_, own_->values(), all_.module_.constants);
      std::vector<NodeId> nodes;
      const std::vector<bool> live = relay::live_nodes(f_);
      for (std::size_t i = 0; i < live.size(); ++i) {
        if (live[i]) nodes.push_back(NodeId{i});
      }
      copier_.run(Function::kBody, nodes, [&](Copier&, NodeId id) { return replace(id); });
      Function out = builder_.finish(copier_.map(f_.result()), f_.attrs, f_.result_annotation);
      out.location = f_.location;
      return relay::without_dead_nodes(std::move(out));
    }

   private:
    std::optional<NodeId> replace(NodeId id) {
      const relay::RegionId region = f_[id].region;
      if (all_.is_movable(f_, id)) {
        if (own_ == nullptr || regions_.closed[region.index()]) return std::nullopt;
        return value(f_.as<relay::Constant>(id)->value, region);
      }
      if (const auto* let = f_.as<relay::Let>(id)) return replace_let(id, *let);
      if (f_.as<relay::ValueCall>(id) != nullptr) return replace_call(id);
      const auto* literal = f_.as<relay::Literal>(id);
      if (own_ == nullptr || literal == nullptr || !relay::is_closed(literal->attrs))
        return std::nullopt;
      if (regions_.fixed[literal->body.index()]) return std::nullopt;
      return lifted(id);
    }

    // In a region that cannot see the parameters it is the constant again.
    NodeId value(const ConstantValue& constant, relay::RegionId region) {
      const Tensor& tensor = all_.module_.constants.resolve(constant);
      if (own_ != nullptr && !regions_.closed[region.index()]) {
        return params_[own_->position(tensor)];
      }
      const NodeId fresh = builder_.constant(constant);
      builder_.set_type(fresh, tensor.type());
      return fresh;
    }

    const std::vector<ConstantValue>* passed_to(NodeId callee) {
      const Function& fresh = builder_.peek();
      callee = relay::behind_lets(fresh, callee);
      if (const auto* global = fresh.as<relay::GlobalRef>(callee)) {
        return all_.symbols_.contains(global->name) ? &all_.needs_[global->name].values() : nullptr;
      }
      const auto found = lifted_.find(callee.index());
      return found != lifted_.end() ? &found->second : nullptr;
    }

    // A name of a function whose type changes has no annotation any more.
    std::optional<NodeId> replace_let(NodeId id, const relay::Let& let) {
      const NodeId of = copier_.map(f_.operands(id)[0]);
      const auto* passed = passed_to(of);
      if (passed == nullptr || passed->empty()) return std::nullopt;
      return builder_.let(let.name, of);
    }

    std::optional<NodeId> replace_call(NodeId id) {
      std::vector<NodeId> operands = copier_.operands(id);
      const auto* passed = passed_to(operands[0]);
      if (passed == nullptr || passed->empty()) return std::nullopt;
      for (const ConstantValue& constant : *passed) {
        operands.push_back(value(constant, f_[id].region));
      }
      return copier_.copy(id, operands);
    }

    // The literal with parameters for its constants. Inner ones are lifted already: what they need
    // stands in their calls.
    std::optional<NodeId> lifted(NodeId id) {
      const NodeId copy = copier_.copy(id);
      const Function function = relay::outline(builder_.peek(), copy);
      ConstantList list;
      const ClosedRegions regions(function);
      for (const NodeId inner : relay::evaluation_order(function)) {
        if (regions.closed[function[inner].region.index()]) continue;
        if (all_.is_movable(function, inner)) {
          list.add(function.as<relay::Constant>(inner)->value, all_.module_.constants);
        }
      }
      if (list.values().empty()) return copy;
      const Function open = Rewrite(all_, function, &list).opened();
      const NodeId fresh = relay::embed(builder_, open);
      lifted_.emplace(fresh.index(), list.values());
      return fresh;
    }

    // The constants of this function alone become parameters; literals and calls stay.
    Function opened() {
      copier_.run(Function::kBody, f_.params());
      params_ = append_params(builder_, own_->values(), all_.module_.constants);
      std::vector<NodeId> nodes;
      for (std::size_t i = 0; i < f_.num_nodes(); ++i) nodes.push_back(NodeId{i});
      copier_.run(Function::kBody, nodes, [&](Copier&, NodeId id) -> std::optional<NodeId> {
        const relay::RegionId region = f_[id].region;
        if (!all_.is_movable(f_, id) || regions_.closed[region.index()]) return std::nullopt;
        return value(f_.as<relay::Constant>(id)->value, region);
      });
      Function out = builder_.finish(copier_.map(f_.result()), f_.attrs, f_.result_annotation);
      out.location = f_.location;
      return out;
    }

    Unbinder& all_;
    const Function& f_;
    ConstantList* own_;
    ClosedRegions regions_;
    FunctionBuilder builder_;
    Copier copier_;
    std::vector<NodeId> params_;  // one a constant of `own_`
    std::unordered_map<std::uint32_t, std::vector<ConstantValue>> lifted_;  // never iterated
  };

  static std::vector<NodeId> append_params(FunctionBuilder& b,
                                           const std::vector<ConstantValue>& constants,
                                           const ConstantPool& pool) {
    std::vector<NodeId> params;
    for (const ConstantValue& constant : constants) {
      const Type type = pool.resolve(constant).type();
      params.push_back(b.param(fmt::format("constant_{}", params.size()), type));
      b.set_type(params.back(), type);
    }
    return params;
  }

  Function rewritten(const Function& f, ConstantList* own) { return Rewrite(*this, f, own).run(); }

  Module module_;
  const std::set<std::string> symbols_;
  std::map<std::string, ConstantList> needs_;
};

Result<Module> run_unbind_constants(Module module, passes::PassContext& context) {
  const auto options = relay::read_attrs<CompilerOptions>(context.options);
  std::set<std::string> symbols = changeable_functions(module, options.compiler, context.warnings);
  return ops::infer_types(Unbinder(std::move(module), std::move(symbols)).run());
}

}  // namespace

extern const passes::Pass unbind_constants;
const passes::Pass unbind_constants{
    .name = "unbind-constants",
    .summary = "makes arguments of the tensor constants in functions with `Compiler`",
    .options = relay::attr_schema<CompilerOptions>,
    .run = run_unbind_constants,
};

}  // namespace tessera::byoc
