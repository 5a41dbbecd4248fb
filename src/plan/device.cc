// SPDX-License-Identifier: Apache-2.0
#include "plan/device.h"

#include <algorithm>

#include "tir/walk.h"

namespace tessera::plan {

using tir::Buffer;
using tir::Stmt;

bool computes_on_cpu(const Module& module, const std::string& symbol) {
  const std::optional<MemorySpace>& space = module.externs.at(symbol).space;
  return space && is_on_host(*space);
}

std::vector<bool> copied_for_cpu(const tir::CallKernel& call, const tir::PrimFunc& kernel) {
  std::vector<bool> copied;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const bool is_read = tir::uses_buffer(kernel.body, kernel.inputs[i]);
    copied.push_back(is_read && !is_on_host(call.inputs[i]));
  }
  for (const Buffer& b : call.outputs) copied.push_back(!is_on_host(b));
  return copied;
}

namespace {

// Does the CPU compute it of sizes and constants alone, as it would in every run of these sizes?
bool follows_from_sizes(const tir::CallKernel& call, const Module& module) {
  const auto kernel = module.prim_funcs.find(call.symbol);
  if (kernel == module.prim_funcs.end()) return false;
  const std::vector<bool> copied = copied_for_cpu(call, kernel->second);
  return std::find(copied.begin(), copied.end(), true) == copied.end();
}

}  // namespace

std::string replay_obstacle(const tir::PrimFunc& main, const Module& module,
                            const MemoryPlan& plan) {
  if (plan.heap_count > 0) return "a tensor has no bound for its size";
  std::string found;
  for (const Buffer& input : main.inputs) {
    if (is_on_host(input)) return "`" + input->name + "` is read by the host";
  }
  tir::for_each_node(main.body, [&](const Stmt& s) {
    if (!found.empty()) return;
    if (s.as<tir::IfThenElse>() != nullptr || s.as<tir::While>() != nullptr) {
      found = "a branch or loop depends on computed values";
    }
    const auto* call = s.as<tir::CallKernel>();
    if (call != nullptr && computes_on_cpu(module, call->symbol) &&
        !follows_from_sizes(*call, module)) {
      found = "`" + call->symbol + "` is computed on the cpu";
    }
    if (call != nullptr && !module.externs.at(call->symbol).capture.is_allowed) {
      found = "back end `" + module.externs.at(call->symbol).backend + "` does not let `" +
              call->symbol + "` be recorded";
    }
  });
  return found;
}

}  // namespace tessera::plan
