// SPDX-License-Identifier: Apache-2.0
#include "driver/verify.h"
#include "relay/operator.h"

namespace tessera::driver {
namespace {

using relay::NodeId;

// Node by node, as the flat order has it. A call of a literal gives its parameters values and reads
// its result, which lies further up; so literals are evaluated at their call, region by region.
class Evaluation {
 public:
  Evaluation(const relay::Function& f, const ConstantPool& pool)
      : f_(f), pool_(pool), values_(f.num_nodes()) {}

  std::vector<Tensor> run(relay::RegionId region, const std::vector<std::vector<Tensor>>& args) {
    const relay::Region& r = f_.region(region);
    for (std::size_t i = 0; i < args.size(); ++i) values_[r.params[i].index()] = args[i];
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      if (f_[NodeId(i)].region == region) node(NodeId(i));
    }
    return values_[r.result.index()];
  }

 private:
  void node(NodeId id) {
    std::vector<Tensor>& out = values_[id.index()];
    if (const auto* c = f_.as<relay::Constant>(id)) {
      out = {pool_.resolve(c->value)};
    } else if (const auto* call = f_.as<relay::OpCall>(id)) {
      TESSERA_CHECK(call->op->eval != nullptr, "`{}` has no reference", call->op->name);
      out = call->op->eval({flat(f_.operands(id)), call->attrs, f_.type(id)});
    } else if (f_.as<relay::ValueCall>(id) != nullptr) {
      out = call_literal(id);
    } else if (const auto* p = f_.as<relay::Project>(id)) {
      out = {values_[f_.operands(id)[0].index()].at(static_cast<std::size_t>(p->index))};
    } else if (f_.as<relay::Param>(id) == nullptr && f_.as<relay::Literal>(id) == nullptr) {
      out = flat(f_.operands(id));  // a tuple, or a name
    }
  }

  std::vector<Tensor> call_literal(NodeId id) {
    const auto operands = f_.operands(id);
    const auto* literal = f_.as<relay::Literal>(operands[0]);
    TESSERA_CHECK(literal != nullptr, "a region calls something that is no literal");
    std::vector<std::vector<Tensor>> args;
    for (const NodeId a : operands.subspan(1)) args.push_back(values_[a.index()]);
    return run(literal->body, args);
  }

  std::vector<Tensor> flat(std::span<const NodeId> nodes) const {
    std::vector<Tensor> out;
    for (const NodeId n : nodes) {
      out.insert(out.end(), values_[n.index()].begin(), values_[n.index()].end());
    }
    return out;
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
  std::vector<std::vector<Tensor>> values_;
};

}  // namespace

std::vector<Tensor> evaluate(const relay::Function& f, const ConstantPool& pool,
                             std::span<const Tensor> inputs) {
  std::vector<std::vector<Tensor>> args;
  std::size_t next = 0;
  for (const NodeId p : f.params()) {
    std::vector<Tensor> parts;
    for (std::size_t i = flatten(f.type(p)).size(); i > 0; --i) parts.push_back(inputs[next++]);
    args.push_back(std::move(parts));
  }
  return Evaluation(f, pool).run(relay::Function::kBody, args);
}

}  // namespace tessera::driver
