// SPDX-License-Identifier: Apache-2.0
#include "byoc/annotations.h"

#include "ops/attrs/annotation.h"
#include "ops/records/table.h"
#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::byoc {
namespace {

using relay::Function;
using relay::NodeId;
using relay::Operator;

const Operator& begin_operator() {
  static const Operator& op = ops::op("annotation.compiler_begin");
  return op;
}
const Operator& end_operator() {
  static const Operator& op = ops::op("annotation.compiler_end");
  return op;
}

NodeId annotate(relay::FunctionBuilder& builder, const Operator& op, NodeId value,
                const std::string& compiler) {
  const NodeId made = builder.call(op, {value}, relay::write_attrs(ops::CompilerAttrs{compiler}));
  builder.set_type(made, builder.peek().type(value));
  return made;
}

// The walk of post_order with a stack of its own.
class Walk {
 public:
  Walk(const Function& f, const Reads& reads)
      : f_(f), reads_(reads), lets_(f.num_regions()), state_(f.num_nodes(), State::kNew) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      if (f.as<relay::Let>(id) != nullptr) lets_[f[id].region.index()].push_back(id);
    }
  }

  PostOrder run() {
    push_region(Function::kBody);
    while (!stack_.empty() && !out_.cycle) {
      const Task task = stack_.back();
      stack_.pop_back();
      if (task.leaves) {
        state_[task.id.index()] = State::kLeft;
        out_.nodes.push_back(task.id);
      } else {
        enter(task.id);
      }
    }
    return std::move(out_);
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kLeft };
  struct Task {
    NodeId id;
    bool leaves = false;
  };

  void push_all(const std::vector<NodeId>& ids) {
    for (std::size_t i = ids.size(); i-- > 0;) stack_.push_back({ids[i]});
  }
  void push_region(relay::RegionId id) {
    stack_.push_back({f_.region(id).result});
    push_all(lets_[id.index()]);
    push_all(f_.region(id).params);
  }

  void enter(NodeId id) {
    State& state = state_[id.index()];
    if (state == State::kLeft) return;
    if (state == State::kOpen) {
      out_.cycle = id;
      return;
    }
    state = State::kOpen;
    stack_.push_back({id, true});
    const auto regions = relay::regions_of(f_, id);
    for (std::size_t i = regions.size(); i-- > 0;) push_region(regions[i]);
    push_all(reads_(id));
  }

  const Function& f_;
  const Reads& reads_;
  std::vector<std::vector<NodeId>> lets_;  // by region
  std::vector<State> state_;
  std::vector<Task> stack_;
  PostOrder out_;
};

}  // namespace

bool is_begin(const Function& f, NodeId id) { return f.op(id) == &begin_operator(); }
bool is_end(const Function& f, NodeId id) { return f.op(id) == &end_operator(); }

std::string compiler_of(const Function& f, NodeId annotation) {
  const auto* call = f.as<relay::OpCall>(annotation);
  TESSERA_CHECK(call != nullptr, "node {} is no annotation", annotation.index());
  return call->attrs.string_or_empty("compiler");
}

NodeId make_begin(relay::FunctionBuilder& builder, NodeId value, const std::string& compiler) {
  return annotate(builder, begin_operator(), value, compiler);
}
NodeId make_end(relay::FunctionBuilder& builder, NodeId value, const std::string& compiler) {
  return annotate(builder, end_operator(), value, compiler);
}

PostOrder post_order(const Function& f, const Reads& reads) { return Walk(f, reads).run(); }

}  // namespace tessera::byoc
