// SPDX-License-Identifier: Apache-2.0
#include "plan/device.h"

#include "tir/walk.h"

namespace tessera::plan {

using tir::Stmt;

bool computes_on_cpu(const Module& module, const std::string& symbol) {
  const Extern& e = module.externs.at(symbol);
  if (e.artifact < 0) {
    const auto& attrs = module.prim_funcs.at(symbol).attrs;
    const auto target = attrs.find("target");
    return target != attrs.end() && target->second == "cpu";
  }
  const TargetKind* kind = find_target_kind(e.backend);
  return kind == nullptr || kind->device == DeviceType::kCpu;
}

std::string replay_obstacle(const tir::PrimFunc& main, const Module& module,
                            const MemoryPlan& plan) {
  if (plan.heap_count > 0) return "a tensor has no bound for its size";
  std::string found;
  tir::for_each_node(main.body, [&](const Stmt& s) {
    if (!found.empty()) return;
    if (s.as<tir::IfThenElse>() != nullptr || s.as<tir::While>() != nullptr) {
      found = "a branch or loop depends on computed values";
    }
    const auto* call = s.as<tir::CallKernel>();
    if (call != nullptr && computes_on_cpu(module, call->symbol)) {
      found = "`" + call->symbol + "` is computed on the cpu";
    }
  });
  return found;
}

}  // namespace tessera::plan
