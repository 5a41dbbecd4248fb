// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/flops.h"

#include <algorithm>

#include "ops/evaluation/elements.h"
#include "relay/operator.h"

namespace tessera::ops {
namespace {

struct Call {
  const relay::Operator& op;
  const relay::Attrs& attrs;
  std::vector<Type> operands;
  Type result;
};

template <class F>
void for_each_call(const relay::Function& f, F&& visit) {
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::NodeId id(i);
    const auto* call = f.as<relay::OpCall>(id);
    if (call == nullptr) continue;
    Call found{*call->op, call->attrs, {}, f.type(id)};
    for (const relay::NodeId o : f.operands(id)) found.operands.push_back(f.type(o));
    visit(found);
  }
}

double known_flops_of(const Call& call) {
  if (call.op.flops != nullptr) return call.op.flops({call.operands, call.attrs, call.result});
  double total = 0;
  for (const Type& t : flatten(call.result)) total += element_count(t);
  return total;
}

Type with_size(const Type& type, const Dim& open, std::int64_t size) {
  if (type.is_tuple()) {
    std::vector<Type> fields;
    for (const Type& field : type.fields()) fields.push_back(with_size(field, open, size));
    return tuple_type(std::move(fields));
  }
  if (!type.is_tensor()) return type;
  Shape shape = type.shape();
  std::replace(shape.begin(), shape.end(), open, Dim(size));
  return tensor_type(std::move(shape), type.dtype());
}

std::vector<Dim> open_sizes(const Call& call) {
  std::vector<Type> types = call.operands;
  types.push_back(call.result);
  std::vector<Dim> found;
  for (const Type& type : types) {
    for (const Type& tensor : flatten(type)) {
      for (const Dim& d : tensor.shape()) {
        if (!d.is_constant() && std::find(found.begin(), found.end(), d) == found.end()) {
          found.push_back(d);
        }
      }
    }
  }
  return found;
}

// How often the size is a factor of the call's flops, nothing where they are no product: a factor
// doubles with its size.
std::optional<int> power_of(const Dim& size, const Call& call, double with_one) {
  Call doubled{call.op, call.attrs, {}, with_size(call.result, size, 2)};
  for (const Type& t : call.operands) doubled.operands.push_back(with_size(t, size, 2));
  const double with_two = known_flops_of(doubled);
  for (int power = 0; power <= 4; ++power) {
    if (with_two == with_one * (1 << power)) return power;
  }
  return std::nullopt;
}

Dim flops_of_call(const Call& call) {
  constexpr double kExact = 9e15;  // integers that a double has
  const double with_one = known_flops_of(call);
  if (with_one == 0) return 0;
  if (with_one > kExact) return Dim::unknown();
  Dim flops(static_cast<std::int64_t>(with_one));
  for (const Dim& size : open_sizes(call)) {
    const auto power = size.is_unknown() ? std::nullopt : power_of(size, call, with_one);
    if (!power) return Dim::unknown();
    for (int i = 0; i < *power; ++i) flops = flops * size;
  }
  return flops;
}

}  // namespace

double known_flops(const relay::Function& f) {
  double total = 0;
  for_each_call(f, [&](const Call& call) { total += known_flops_of(call); });
  return total;
}

Dim flops_of(const relay::Function& f) {
  Dim total = 0;
  for_each_call(f, [&](const Call& call) { total = total + flops_of_call(call); });
  return total;
}

}  // namespace tessera::ops
