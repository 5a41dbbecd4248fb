// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "lower/kernels.h"
#include "lower/loop_constants.h"
#include "lower/main.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Buffer;
using tir::Stmt;

// What a kernel has given up, for its callers to provide.
struct Hoisted {
  std::vector<ConstantIndex> tables;
  std::vector<Buffer> scratch;
  std::vector<tir::Expr> dims;  // the kernel's formal dimensions, of which scratch sizes are made
  bool on_host = false;         // where the CPU computes, whatever else is on a device
};

// Takes the leading allocations off a kernel's body.
Hoisted hoist_from(tir::PrimFunc& kernel, ConstantPool& pool) {
  Hoisted out;
  out.dims = kernel.dims;
  out.on_host = is_for_cpu(kernel);
  for (;;) {
    if (const auto* table = kernel.body.as<tir::AllocateConst>()) {
      const auto* index = std::get_if<ConstantIndex>(&table->data);
      out.tables.push_back(index != nullptr ? *index : pool.add(std::get<Tensor>(table->data)));
      kernel.inputs.push_back(table->buffer);
      kernel.body = Stmt(table->body);
    } else if (const auto* scratch = kernel.body.as<tir::Allocate>();
               scratch != nullptr && scratch->buffer->scope == tir::MemoryScope::kGlobal) {
      out.scratch.push_back(scratch->buffer);
      kernel.outputs.push_back(scratch->buffer);
      kernel.body = Stmt(scratch->body);
    } else {
      return out;
    }
  }
}

// Gives the calls in a host program what their kernels need now.
class CallWidener {
 public:
  CallWidener(const std::map<std::string, Hoisted>& hoisted, const ConstantPool& pool)
      : hoisted_(hoisted), tables_(pool) {}

  Stmt run(const Stmt& body) {
    Stmt out = block(body);
    return tables_.define(std::move(out));
  }

 private:
  Stmt block(const Stmt& body) {
    return tir::map_block(body, [&](const Stmt& s) { return step(s); });
  }
  Stmt step(const Stmt& s) {
    const auto* call = s.as<tir::CallKernel>();
    if (call == nullptr) return map_children(s, [&](const Stmt& body) { return block(body); });
    const auto found = hoisted_.find(call->symbol);
    if (found == hoisted_.end()) return s;
    std::vector<Buffer> in = call->inputs, out = call->outputs, fresh;
    for (ConstantIndex table : found->second.tables) {
      in.push_back(tables_.buffer(table, found->second.on_host));
    }
    tir::VarMap values;
    for (std::size_t i = 0; i < call->dims.size(); ++i) {
      values[found->second.dims[i].get()] = call->dims[i];
    }
    for (const Buffer& b : found->second.scratch) {
      std::vector<tir::Expr> shape;
      for (const tir::Expr& e : b->shape) shape.push_back(tir::substitute(e, values));
      fresh.push_back(tir::make_buffer(b->name + "_scratch", b->dtype, std::move(shape)));
      out.push_back(fresh.back());
    }
    Stmt widened = tir::CallKernel::make(call->symbol, in, out, call->dims);
    for (const Buffer& b : fresh) widened = tir::Allocate::make(b, widened);
    return widened;
  }

  const std::map<std::string, Hoisted>& hoisted_;
  HostConstants tables_;
};

}  // namespace

Module hoist_allocations(Module module) {
  std::map<std::string, Hoisted> hoisted;
  for (auto& [symbol, f] : module.prim_funcs) {
    if (f.is_host) continue;
    Hoisted h = hoist_from(f, module.constants);
    if (!h.tables.empty() || !h.scratch.empty()) hoisted.emplace(symbol, std::move(h));
  }
  for (auto& [symbol, f] : module.prim_funcs) {
    if (f.is_host) f.body = CallWidener(hoisted, module.constants).run(f.body);
  }
  return module;
}

}  // namespace tessera::lower
