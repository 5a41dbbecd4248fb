// SPDX-License-Identifier: Apache-2.0
// Relay-spec 8.8, stage 5: pools become parameters, and planned allocations views of them.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "passes/pass.h"
#include "plan/whole_program.h"
#include "tir/verify_buffer.h"

namespace tessera::plan {
namespace {

using tir::Buffer;
using tir::Stmt;

bool is_planned(const Buffer& b) { return b->pools.size() == 1 && b->offset_bytes >= 0; }

class PoolOffsets {
 public:
  explicit PoolOffsets(Module module, std::vector<std::string> functions, std::vector<Pool> pools)
      : module_(std::move(module)), functions_(std::move(functions)) {
    for (Pool& pool : pools) pools_.emplace(pool.name, std::move(pool));
  }

  Result<Module> run() {
    for (const std::string& name : functions_) {
      TESSERA_TRY_VOID(collect(name));
    }
    for (const std::string& name : functions_) convert(name);
    return std::move(module_);
  }

 private:
  // Which pools the function and those that it calls use, and how much of each.
  Result<void> collect(const std::string& name) {
    std::set<std::string>& used = used_[name];
    Diagnostics errors;
    const Stmt& body = module_.prim_funcs.at(name).body;
    for_each_allocation(body, [&](const Buffer& b) {
      if (!is_planned(b)) return;
      const auto pool = pools_.find(b->pools[0]);
      const std::int64_t bytes = tir::constant_bytes(b);
      if (pool == pools_.end() || bytes < 0) {
        return errors.add(error(
            Code::kUnknownName, {}, "`{}` of `@{}` has a place in the pool `{}`, which {}", b->name,
            name, b->pools[0], pool == pools_.end() ? "is not declared" : "has no such size"));
      }
      pool->second.bytes = std::max(pool->second.bytes, b->offset_bytes + bytes);
      pool->second.align_bytes = std::max(pool->second.align_bytes, b->align_bytes);
      used.insert(pool->first);
    });
    tir::for_each_node(body, [&](const Stmt& s) {
      const auto* call = s.as<tir::CallKernel>();
      const auto callee = call == nullptr ? used_.end() : used_.find(call->symbol);
      if (callee != used_.end() && call->symbol != name) {
        used.insert(callee->second.begin(), callee->second.end());
      }
    });
    if (!errors.empty()) return fail(std::move(errors));
    return {};
  }

  // The number of a pool among all of the module that are used, by name.
  std::string parameter_name(const std::string& pool) const {
    std::set<std::string> all;
    for (const auto& [function, used] : used_) all.insert(used.begin(), used.end());
    return fmt::format("{}_{}_var", pool, std::distance(all.begin(), all.find(pool)));
  }

  void convert(const std::string& name) {
    tir::PrimFunc& f = module_.prim_funcs.at(name);
    std::map<std::string, Buffer> parameters;
    std::vector<std::string> texts;
    for (const std::string& used : used_.at(name)) {
      const Pool& pool = pools_.at(used);
      auto* node = new tir::BufferNode(
          *tir::make_buffer(parameter_name(used), kUInt8, {tir::Expr(pool.bytes)}));
      node->align_bytes = pool.align_bytes;
      node->space = pool.space;
      const Buffer b(node);
      texts.push_back(fmt::format("{}: {} bytes of {}, parameter {}", b->name, pool.bytes,
                                  to_string(pool), f.inputs.size() + f.outputs.size()));
      f.outputs.push_back(b);
      parameters.emplace(used, b);
    }
    f.body = with_pools(f.body, parameters);
    if (!texts.empty()) f.attrs["pool_args"] = fmt::format("{}", fmt::join(texts, "; "));
  }

  Stmt with_pools(const Stmt& body, const std::map<std::string, Buffer>& parameters) const {
    tir::BufferMap buffers;
    std::map<const tir::BufferNode*, Buffer> pool_of;
    for_each_allocation(body, [&](const Buffer& b) {
      if (!is_planned(b)) return;
      auto* node = new tir::BufferNode(*b);
      buffers[b.get()] = Buffer(node);
      node->pools.clear();
      pool_of[node] = parameters.at(b->pools[0]);
    });
    const auto define = [&](const Stmt& s) {
      const auto* made = s.as<tir::Allocate>();
      const auto pool = made == nullptr ? pool_of.end() : pool_of.find(made->buffer.get());
      return pool == pool_of.end() ? s : tir::View::make(made->buffer, pool->second, made->body);
    };
    return with_arguments(with_buffers(body, buffers, define), parameters);
  }

  // Calls of functions that take pools give them.
  Stmt with_arguments(const Stmt& body, const std::map<std::string, Buffer>& parameters) const {
    return tir::map_block(body, [&](const Stmt& s) {
      const auto* call = s.as<tir::CallKernel>();
      if (call == nullptr) {
        return tir::map_children(s, [&](const Stmt& b) { return with_arguments(b, parameters); });
      }
      const auto callee = used_.find(call->symbol);
      if (callee == used_.end() || callee->second.empty()) return s;
      std::vector<Buffer> outputs = call->outputs;
      for (const std::string& pool : callee->second) outputs.push_back(parameters.at(pool));
      return tir::CallKernel::make(call->symbol, call->inputs, std::move(outputs), call->dims);
    });
  }

  Module module_;
  const std::vector<std::string> functions_;           // callees first
  std::map<std::string, Pool> pools_;                  // by name
  std::map<std::string, std::set<std::string>> used_;  // names of pools by function
};

Result<Module> run_pool_offsets(Module module, passes::PassContext&) {
  TESSERA_TRY(std::vector<std::string> functions, called_functions(module, "pool-offsets"));
  TESSERA_TRY(std::vector<Pool> pools, pools_of(module));
  return PoolOffsets(std::move(module), std::move(functions), std::move(pools)).run();
}

}  // namespace

extern const passes::Pass pool_offsets;
const passes::Pass pool_offsets{
    .name = "pool-offsets",
    .summary = "makes pools parameters of loop functions, and planned allocations views of them",
    .run = run_pool_offsets,
};

}  // namespace tessera::plan
