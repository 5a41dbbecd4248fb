// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "emit/host.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

void mark_used(const tir::Stmt& stmt, std::vector<bool>& used) {
  tir::for_each_node(stmt, [&](const tir::Stmt& s) {
    const auto* allocation = s.as<tir::AllocateConst>();
    if (allocation == nullptr) return;
    if (const auto* index = std::get_if<ConstantIndex>(&allocation->data))
      used[index->index()] = true;
  });
}

std::vector<bool> used_constants(const Module& module) {
  std::vector<bool> used(module.constants.size(), false);
  for (const auto& [name, f] : module.prim_funcs) mark_used(f.body, used);
  for (const KeptWeight& weight : module.kept_weights) used[weight.value.index()] = true;
  for (const Artifact& artifact : module.artifacts) {
    for (const NamedConstant& c : artifact.constants) used[c.index.index()] = true;
  }
  return used;
}

}  // namespace

WeightsLayout layout_weights(const Module& module) {
  WeightsLayout layout;
  layout.used = used_constants(module);
  std::map<const Blob*, std::uint64_t> seen;  // the pool makes equal bytes one blob
  for (std::size_t i = 0; i < module.constants.size(); ++i) {
    const Tensor& t = module.constants[ConstantIndex(i)];
    if (!layout.used[i]) {
      layout.offsets.push_back(0);
      continue;
    }
    const auto [it, fresh] = seen.emplace(t.blob.get(), layout.bytes);
    if (fresh) {
      layout.pieces.push_back({layout.bytes, t.blob});
      layout.bytes += (t.blob->size_bytes() + kConstantAlignBytes - 1) / kConstantAlignBytes *
                      kConstantAlignBytes;
    }
    layout.offsets.push_back(it->second);
  }
  return layout;
}

}  // namespace tessera::emit
