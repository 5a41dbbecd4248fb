// SPDX-License-Identifier: Apache-2.0
#include "lower/loop_calls.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "lower/kernels.h"
#include "lower/loop_constants.h"
#include "relay/rewrite.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using relay::Function;
using relay::NodeId;
using tir::Buffer;
using tir::Stmt;

// The tuple of arguments, where the node is a lowered call that writes them out.
NodeId written_arguments(const Function& f, NodeId id) {
  if (!relay::is_call_of(f, id, "call_lowered")) return {};
  const NodeId tuple = f.operands(id)[1];
  return f.as<relay::Tuple>(tuple) != nullptr ? tuple : NodeId{};
}

GivenConstants given_to(const Function& f, NodeId tuple) {
  GivenConstants list;
  for (const NodeId field : f.operands(tuple)) {
    const auto* constant = f.as<relay::Constant>(field);
    list.push_back(constant != nullptr ? std::optional(constant->value) : std::nullopt);
  }
  return list;
}

// The constants that a host program defines.
class DefinedConstants {
 public:
  explicit DefinedConstants(const Stmt& program) {
    for (LoopConstant& c : constant_definitions(program)) {
      by_buffer_.emplace(c.buffer.get(), std::move(c.data));
    }
  }
  GivenConstants given(const std::vector<Buffer>& inputs) const {
    GivenConstants list;
    for (const Buffer& b : inputs) {
      const auto known = by_buffer_.find(b.get());
      list.push_back(known != by_buffer_.end() ? std::optional(known->second) : std::nullopt);
    }
    return list;
  }

 private:
  std::unordered_map<const tir::BufferNode*, ConstantValue> by_buffer_;  // never iterated
};

class CallCollector {
 public:
  explicit CallCollector(const Module& module) : module_(module) {
    for (const auto& [symbol, e] : module.externs) {
      if (e.convention != CallingConvention::kGenerated) fixed_.insert(symbol);
    }
  }

  std::map<std::string, std::vector<GivenConstants>> run() {
    for (const auto& [name, f] : module_.functions) graph(f);
    for (const auto& [name, f] : module_.prim_funcs) {
      if (f.is_host) host(f);
    }
    for (const std::string& symbol : fixed_) calls_.erase(symbol);
    // A text may call with another number of inputs, which is refused elsewhere.
    std::erase_if(calls_, [&](const auto& entry) {
      const std::size_t inputs = module_.prim_funcs.at(entry.first).inputs.size();
      return std::any_of(entry.second.begin(), entry.second.end(),
                         [&](const GivenConstants& call) { return call.size() != inputs; });
    });
    return std::move(calls_);
  }

 private:
  const std::string* loops_at(const Function& f, NodeId id) const {
    const auto* global = f.as<relay::GlobalRef>(id);
    return global != nullptr && module_.prim_funcs.contains(global->name) ? &global->name : nullptr;
  }

  void graph(const Function& f) {
    for (std::size_t i = 0; i < f.num_regions(); ++i) {
      const NodeId result = f.region(relay::RegionId{i}).result;
      if (result && loops_at(f, result) != nullptr) fixed_.insert(*loops_at(f, result));
    }
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id{i};
      const auto operands = f.operands(id);
      for (std::size_t k = 0; k < operands.size(); ++k) {
        const std::string* symbol = loops_at(f, operands[k]);
        if (symbol == nullptr) continue;
        const NodeId tuple = k == 0 ? written_arguments(f, id) : NodeId{};
        if (tuple) {
          calls_[*symbol].push_back(given_to(f, tuple));
        } else {
          fixed_.insert(*symbol);
        }
      }
    }
  }

  void host(const tir::PrimFunc& f) {
    const DefinedConstants constants(f.body);
    tir::for_each_node(f.body, [&](const Stmt& s) {
      const auto* call = s.as<tir::CallKernel>();
      if (call == nullptr || !module_.prim_funcs.contains(call->symbol)) return;
      calls_[call->symbol].push_back(constants.given(call->inputs));
    });
  }

  const Module& module_;
  std::set<std::string> fixed_;
  std::map<std::string, std::vector<GivenConstants>> calls_;
};

Function changed_graph(const Function& f, const std::map<std::string, InputChange>& changes,
                       const ConstantPool& pool) {
  return relay::rewrite(f, [&](relay::Copier& c, NodeId id) -> std::optional<NodeId> {
    const NodeId tuple = written_arguments(f, id);
    if (!tuple) return std::nullopt;
    const auto* callee = f.as<relay::GlobalRef>(f.operands(id)[0]);
    const auto change = callee != nullptr ? changes.find(callee->name) : changes.end();
    if (change == changes.end()) return std::nullopt;
    std::vector<NodeId> fields;
    std::vector<Type> types;
    const auto old = f.operands(tuple);
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (change->second.leaves[i]) continue;
      fields.push_back(c.map(old[i]));
      types.push_back(f.type(old[i]));
    }
    for (const ConstantIndex index : change->second.added(given_to(f, tuple))) {
      fields.push_back(c.builder().constant(ConstantValue(index)));
      types.push_back(pool[index].type());
      c.builder().set_type(fields.back(), types.back());
    }
    const NodeId arguments = c.builder().tuple(fields);
    c.builder().set_type(arguments, tuple_type(types));
    // The reference is made anew: it has the type of the changed function.
    const NodeId operands[] = {c.builder().global(callee->name), arguments};
    return c.copy(id, operands);
  });
}

class HostChange {
 public:
  HostChange(const Module& module, const std::map<std::string, InputChange>& changes,
             const Stmt& program)
      : module_(module), changes_(changes), defined_(program), constants_(module.constants) {}

  Stmt run(const Stmt& program) {
    const Stmt out = constants_.define(block(program));
    return map_constants(out, [&](const tir::AllocateConst& c, const Stmt& scope) {
      const bool is_unread = left_.contains(c.buffer.get()) && !tir::uses_buffer(scope, c.buffer);
      return is_unread ? scope : tir::AllocateConst::make(c.buffer, c.data, scope);
    });
  }

 private:
  Stmt block(const Stmt& s) {
    return tir::map_block(s, [&](const Stmt& part) { return step(part); });
  }
  Stmt step(const Stmt& s) {
    const auto* call = s.as<tir::CallKernel>();
    if (call == nullptr) return map_children(s, [&](const Stmt& inner) { return block(inner); });
    const auto change = changes_.find(call->symbol);
    if (change == changes_.end()) return s;
    std::vector<Buffer> inputs;
    for (std::size_t i = 0; i < call->inputs.size(); ++i) {
      if (change->second.leaves[i]) {
        left_.insert(call->inputs[i].get());
      } else {
        inputs.push_back(call->inputs[i]);
      }
    }
    const bool on_host = is_for_cpu(module_.prim_funcs.at(call->symbol));
    for (const ConstantIndex index : change->second.added(defined_.given(call->inputs))) {
      inputs.push_back(constants_.buffer(index, on_host));
    }
    return tir::CallKernel::make(call->symbol, inputs, call->outputs, call->dims);
  }

  const Module& module_;
  const std::map<std::string, InputChange>& changes_;
  const DefinedConstants defined_;
  HostConstants constants_;
  std::set<const tir::BufferNode*> left_;  // never iterated
};

}  // namespace

std::map<std::string, std::vector<GivenConstants>> calls_of_loops(const Module& module) {
  return CallCollector(module).run();
}

Module change_calls(Module module, const std::map<std::string, InputChange>& changes) {
  if (changes.empty()) return module;
  for (auto& [name, f] : module.functions) {
    CheckContext context("in @" + name);
    f = changed_graph(f, changes, module.constants);
  }
  for (auto& [name, f] : module.prim_funcs) {
    if (f.is_host) f.body = HostChange(module, changes, f.body).run(f.body);
  }
  return module;
}

}  // namespace tessera::lower
