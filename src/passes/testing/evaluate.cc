// SPDX-License-Identifier: Apache-2.0
#include "passes/testing/evaluate.h"

#include <cmath>
#include <limits>

#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::passes::testing {
namespace {

using relay::NodeId;

// A tensor, or a tuple of values.
struct Value {
  Tensor tensor;
  std::vector<Value> fields;
  bool is_tuple = false;
};

void flatten(const Value& v, std::vector<Tensor>& out) {
  if (!v.is_tuple) out.push_back(v.tensor);
  for (const Value& field : v.fields) flatten(field, out);
}

Value unflatten(const Type& type, const std::vector<Tensor>& tensors, std::size_t& at) {
  if (type.is_tensor()) return {tensors.at(at++), {}, false};
  Value v{{}, {}, true};
  for (const Type& field : type.fields()) v.fields.push_back(unflatten(field, tensors, at));
  return v;
}

// One activation of a function. Values are computed when they are asked for, so that only the
// branch that is taken runs.
class Frame {
 public:
  Frame(const Module& module, const relay::Function& f)
      : module_(module), f_(f), values_(f.num_nodes()) {}

  Value run(const std::vector<Value>& arguments) { return run(relay::Function::kBody, arguments); }

 private:
  Value run(relay::RegionId region, const std::vector<Value>& arguments) {
    const auto& params = f_.region(region).params;
    TESSERA_CHECK(params.size() == arguments.size(), "{} arguments for {} parameters",
                  arguments.size(), params.size());
    for (std::size_t i = 0; i < params.size(); ++i) values_[params[i].index()] = arguments[i];
    return at(f_.region(region).result);
  }

  const Value& at(NodeId id) {
    std::optional<Value>& value = values_[id.index()];
    if (!value) value = compute(id);
    return *value;
  }

  Value compute(NodeId id) {
    const auto operands = f_.operands(id);
    switch (f_[id].kind()) {
      case relay::NodeKind::kConstant:
        return {module_.constants.resolve(f_.as<relay::Constant>(id)->value), {}, false};
      case relay::NodeKind::kOpCall:
        return call_operator(id);
      case relay::NodeKind::kValueCall:
        return call_value(id);
      case relay::NodeKind::kTuple: {
        Value tuple{{}, {}, true};
        for (const NodeId field : operands) tuple.fields.push_back(at(field));
        return tuple;
      }
      case relay::NodeKind::kProject:
        return at(operands[0])
            .fields.at(static_cast<std::size_t>(f_.as<relay::Project>(id)->index));
      case relay::NodeKind::kIf: {
        const auto& branch = *f_.as<relay::If>(id);
        const bool taken = element_as_int(at(operands[0]).tensor, 0) != 0;
        return run(taken ? branch.then_region : branch.else_region, {});
      }
      case relay::NodeKind::kLet:
        return at(operands[0]);
      default:
        TESSERA_CHECK(false, "node {} has no value of its own", id.index());
        return {};
    }
  }

  Value call_operator(NodeId id) {
    const auto& call = *f_.as<relay::OpCall>(id);
    std::vector<Tensor> operands;
    for (const NodeId operand : f_.operands(id)) flatten(at(operand), operands);
    const std::vector<Tensor> results = call.op->eval({operands, call.attrs, f_.type(id)});
    std::size_t next = 0;
    return unflatten(f_.type(id), results, next);
  }

  Value call_value(NodeId id) {
    const auto operands = f_.operands(id);
    std::vector<Value> arguments;
    for (const NodeId operand : operands.subspan(1)) arguments.push_back(at(operand));
    NodeId callee = operands[0];
    while (f_.as<relay::Let>(callee) != nullptr) callee = f_.operands(callee)[0];
    if (const auto* global = f_.as<relay::GlobalRef>(callee)) {
      return Frame(module_, module_.functions.at(global->name)).run(arguments);
    }
    const auto* literal = f_.as<relay::Literal>(callee);
    TESSERA_CHECK(literal != nullptr, "the callee of node {} is not known", id.index());
    for (const NodeId inner : relay::nodes_within(f_, literal->body)) {
      values_[inner.index()].reset();
    }
    return run(literal->body, arguments);
  }

  const Module& module_;
  const relay::Function& f_;
  std::vector<std::optional<Value>> values_;
};

// The mapping of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

Tensor random_tensor(const std::string& name, const Type& type) {
  const auto shape = constant_shape(type.shape()).value();
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  const std::uint64_t seed = hash_text(name).low;
  const double middle = name.starts_with("var") ? 1 : 0, radius = middle == 1 ? 0.5 : 1;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mixed(seed + static_cast<std::uint64_t>(i));
    const double unit = static_cast<double>(bits >> 11) / static_cast<double>(1ull << 53);
    values.push_back(type.dtype().is_float()  ? middle + radius * (2 * unit - 1)
                     : type.dtype().is_bool() ? static_cast<double>(bits % 2)
                                              : static_cast<double>(bits % 4));
  }
  return tensor_from_doubles(shape, type.dtype(), values);
}

}  // namespace

std::vector<Tensor> evaluate(const Module& module, const std::string& name,
                             const std::vector<Tensor>& inputs) {
  std::vector<Value> arguments;
  for (const Tensor& t : inputs) arguments.push_back({t, {}, false});
  std::vector<Tensor> out;
  flatten(Frame(module, module.functions.at(name)).run(arguments), out);
  return out;
}

std::map<std::string, Tensor> random_inputs(const relay::Function& f) {
  std::map<std::string, Tensor> inputs;
  for (const NodeId id : f.params()) {
    const std::string& name = f.as<relay::Param>(id)->name;
    inputs.emplace(name, random_tensor(name, f.type(id)));
  }
  return inputs;
}

double relative_difference(const Tensor& found, const Tensor& wanted) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (!(found.type() == wanted.type())) return infinity;
  double difference = 0, magnitude = 0;
  for (std::int64_t i = 0; i < wanted.num_elements(); ++i) {
    const double f = element_as_double(found, i), w = element_as_double(wanted, i);
    if (f == w || (std::isnan(f) && std::isnan(w))) continue;
    if (!std::isfinite(f) || !std::isfinite(w)) return infinity;
    difference = std::max(difference, std::abs(f - w));
    magnitude = std::max(magnitude, std::abs(w));
  }
  return difference == 0 ? 0 : difference / std::max(magnitude, 1e-6);
}

}  // namespace tessera::passes::testing
