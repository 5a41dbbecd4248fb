// SPDX-License-Identifier: Apache-2.0
#include "tir/device_loops.h"

#include <algorithm>

#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::tir {

int block_threads(const Stmt& body) {
  std::int64_t widest = 1;
  for_each_node(body, [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    if (loop == nullptr || loop->loop != ForKind::kThreads) return;
    const std::int64_t* n = as_int(loop->extent);
    widest = std::max(widest, n != nullptr ? *n : std::int64_t{kMaxTeamThreads});
  });
  const std::int64_t whole = (widest + kWarpThreads - 1) / kWarpThreads * kWarpThreads;
  return static_cast<int>(std::min<std::int64_t>(whole, kMaxTeamThreads));
}

}  // namespace tessera::tir
