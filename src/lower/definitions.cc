// SPDX-License-Identifier: Apache-2.0
#include "lower/definitions.h"

#include <optional>

#include "relay/operator.h"
#include "relay/rewrite.h"
#include "types/computed.h"

namespace tessera::lower {
namespace {

using relay::Function;
using relay::NodeId;
using tir::TensorExpr;

// Walks a region's nodes in order; a value is the list of its tensors.
class RegionWalk {
 public:
  RegionWalk(const Function& f, relay::RegionId region, const ConstantPool& pool)
      : f_(f), region_(region), pool_(pool), nodes_(relay::nodes_within(f, region)) {
    if (nodes_.empty()) return;
    first_ = nodes_.front().index();
    values_.resize(nodes_.back().index() - first_ + 1);
    data_.resize(values_.size());
  }

  Result<Definitions> run() {
    for (NodeId param : f_.region(region_).params) {
      define_param(param);
    }
    for (const Type& out : flatten(f_.type(f_.region(region_).result))) {
      out_.dims.shape(out.shape());
    }
    for (const NodeId id : nodes_) {
      if (f_[id].region == region_) TESSERA_TRY_VOID(define_node(id));
    }
    out_.outputs = value(f_.region(region_).result);
    return std::move(out_);
  }

 private:
  std::size_t place(NodeId id) const {
    TESSERA_CHECK(id.index() - first_ < values_.size(), "a node of another region");
    return id.index() - first_;
  }
  std::vector<TensorExpr>& value(NodeId id) { return values_[place(id)]; }

  void define_param(NodeId id) {
    const std::string& name = f_.as<relay::Param>(id)->name;
    const std::vector<Type> parts = flatten(f_.type(id));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string part = parts.size() == 1 ? name : fmt::format("{}_{}", name, i);
      value(id).push_back(
          tir::input_tensor(part, out_.dims.shape(parts[i].shape()), parts[i].dtype()));
      out_.inputs.push_back(value(id).back());
    }
  }

  Result<void> define_node(NodeId id) {
    const auto operands = f_.operands(id);
    if (const Type other = uncomputed_tensor(f_.type(id))) {
      return fail(error(Code::kNotSupported, f_[id].location,
                        "nothing can be computed with values of type {}", to_string(other)));
    }
    if (const auto* c = f_.as<relay::Constant>(id)) {
      data_[place(id)] = &pool_.resolve(c->value);
      value(id) = {tir::constant_tensor("table", *data_[place(id)])};
    } else if (f_.as<relay::OpCall>(id) != nullptr) {
      return define_call(id);
    } else if (f_.as<relay::Tuple>(id) != nullptr) {
      for (NodeId field : operands)
        value(id).insert(value(id).end(), value(field).begin(), value(field).end());
    } else if (const auto* p = f_.as<relay::Project>(id)) {
      define_projection(id, operands[0], p->index);
    } else if (f_.as<relay::Let>(id) != nullptr) {
      value(id) = value(operands[0]);
    } else if (f_.as<relay::Param>(id) == nullptr) {
      return fail(error(Code::kNotSupported, f_[id].location,
                        "a primitive function holds calls of operators only"));
    }
    return {};
  }

  void define_projection(NodeId id, NodeId tuple, int index) {
    const std::vector<Type>& fields = f_.type(tuple).fields();
    std::size_t first = 0;
    for (int i = 0; i < index; ++i) first += flatten(fields[static_cast<std::size_t>(i)]).size();
    const std::size_t count = flatten(f_.type(id)).size();
    const auto begin = value(tuple).begin() + static_cast<std::ptrdiff_t>(first);
    value(id).assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  }

  Result<void> define_call(NodeId id) {
    const relay::OpCall& call = *f_.as<relay::OpCall>(id);
    if (call.op->compute == nullptr) {
      return fail(error(Code::kNotSupported, f_[id].location,
                        "`{}` has no loop definition, so generated code cannot run it",
                        call.op->name));
    }
    std::vector<TensorExpr> operands;
    std::vector<Type> types;
    std::vector<const Tensor*> values;
    for (NodeId operand : f_.operands(id)) {
      operands.insert(operands.end(), value(operand).begin(), value(operand).end());
      for (Type& part : flatten(f_.type(operand))) types.push_back(std::move(part));
      values.push_back(data_[place(operand)]);
    }
    value(id) = call.op->compute({operands, types, values, call.attrs, f_.type(id), out_.dims});
    TESSERA_CHECK(value(id).size() == flatten(f_.type(id)).size(),
                  "the definition of {} gives {} tensors", call.op->name, value(id).size());
    out_.operators.emplace_back(call.op->name);
    if (f_[id].location) out_.sources.push_back(f_[id].location);
    return {};
  }

  const Function& f_;
  relay::RegionId region_;
  const ConstantPool& pool_;
  std::vector<NodeId> nodes_;  // of the region and those inside it
  std::uint32_t first_ = 0;    // the index of the first, from which the lists below count
  std::vector<std::vector<TensorExpr>> values_;
  std::vector<const Tensor*> data_;  // of constants
  Definitions out_;
};

}  // namespace

Result<Definitions> define_region(const Function& f, relay::RegionId region,
                                  const ConstantPool& pool) {
  return RegionWalk(f, region, pool).run();
}

}  // namespace tessera::lower
