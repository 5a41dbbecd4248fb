// SPDX-License-Identifier: Apache-2.0
#include "relay/traced_rewrite.h"

namespace tessera::relay {

Rewritten traced_rewrite(const Function& f, const Copier::Callback& replace) {
  FunctionBuilder builder;
  Copier copier(f, builder, true);
  const std::vector<bool> live = live_nodes(f);
  std::vector<NodeId> order;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) order.push_back(NodeId(i));
  }
  copier.run(Function::kBody, order, replace);
  Function made = builder.finish(copier.map(f.result()), f.attrs, f.result_annotation);
  made.location = f.location;
  Rewritten out;
  out.of_made.resize(made.num_nodes());
  const std::vector<bool> is_used = live_nodes(made);
  std::size_t next = 0;  // what is used keeps its order
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i]) out.of_made[i] = NodeId(next++);
  }
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const NodeId fresh = copier.map(NodeId(i));
    out.of_old.push_back(fresh ? out.of_made[fresh.index()] : NodeId());
  }
  out.function = without_dead_nodes(std::move(made));
  return out;
}

}  // namespace tessera::relay
