// SPDX-License-Identifier: Apache-2.0
// Regions of composites on their way into the graph of another library: what that graph has for
// each of their values.
#pragma once

#include <map>
#include <vector>

#include "constants/pool.h"
#include "relay/function.h"
#include "relay/patterns/refuse.h"

namespace tessera::byoc {

// What a call reads: a tensor, or a tuple of them in order.
template <class Value>
struct GraphOperand {
  Type type;
  std::vector<Value> values;
  const Tensor* constant = nullptr;  // its data, where they are known
};

// A `Graph` makes values: `Value input(const Type&)`, `Value constant(const Tensor&)`.
template <class Value, class Graph>
class RegionValues {
 public:
  using Operand = GraphOperand<Value>;

  // Without a pool, constants of one come from outside.
  RegionValues(const relay::Function& f, const ConstantPool* pool, Graph& out)
      : f_(f), pool_(pool), out_(out) {}

  void set(relay::NodeId id, Operand operand) { known_[id] = std::move(operand); }

  // A value that comes from outside.
  const Operand& parameter(relay::NodeId id) {
    Operand operand{f_.type(id), {}};
    for (const Type& tensor : flatten(operand.type)) operand.values.push_back(out_.input(tensor));
    return known_[id] = std::move(operand);
  }

  const Operand& value(relay::NodeId id) {
    const auto known = known_.find(id);
    if (known != known_.end()) return known->second;
    if (const auto* constant = f_.as<relay::Constant>(id)) {
      if (const Tensor* tensor = data_of(*constant)) {
        return known_[id] = {tensor->type(), {out_.constant(*tensor)}, tensor};
      }
    }
    if (f_.as<relay::Tuple>(id) == nullptr) return parameter(id);
    Operand tuple{f_.type(id), {}};
    for (const relay::NodeId field : f_.operands(id)) {
      const std::vector<Value>& values = value(field).values;
      tuple.values.insert(tuple.values.end(), values.begin(), values.end());
    }
    return known_[id] = std::move(tuple);
  }

  std::vector<Operand> operands_of(relay::NodeId id) {
    std::vector<Operand> operands;
    for (const relay::NodeId operand : f_.operands(id)) operands.push_back(value(operand));
    return operands;
  }

  // All composites of a region, in order: `convert` gives the values of a composite's root, with
  // the type of its call, which knows sizes that its literal does not.
  template <class Convert>
  Expected<void, relay::Refusal> add_composites(const Convert& convert) {
    for (const relay::NodeId param : f_.params()) parameter(param);
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const relay::NodeId call{i};
      const bool is_call =
          f_[call].region == relay::Function::kBody && f_.as<relay::ValueCall>(call) != nullptr;
      if (!is_call) continue;
      const auto operands = f_.operands(call);
      const auto* literal = f_.as<relay::Literal>(operands[0]);
      if (literal == nullptr) return relay::refuse("a region holds a call of no composite");
      const relay::Region& body = f_.region(literal->body);
      for (std::size_t p = 0; p < body.params.size(); ++p) {
        set(body.params[p], value(operands[p + 1]));
      }
      TESSERA_TRY(std::vector<Value> values, convert(body.result, f_.type(call)));
      set(call, {f_.type(call), std::move(values)});
    }
    return {};
  }

 private:
  const Tensor* data_of(const relay::Constant& constant) const {
    if (const auto* tensor = std::get_if<Tensor>(&constant.value)) return tensor;
    return pool_ != nullptr ? &pool_->resolve(constant.value) : nullptr;
  }

  const relay::Function& f_;
  const ConstantPool* pool_;
  Graph& out_;
  std::map<relay::NodeId, Operand> known_;
};

}  // namespace tessera::byoc
