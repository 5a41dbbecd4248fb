// SPDX-License-Identifier: Apache-2.0
#include "driver/step_costs.h"

#include <algorithm>
#include <set>

#include "ops/evaluation/flops.h"
#include "tir/print.h"
#include "tir/walk.h"

namespace tessera::driver {
namespace {

Dim bytes_of(const tir::Buffer& buffer) {
  Dim bytes = buffer->dtype.size_bytes();
  for (const tir::Expr& e : buffer->shape) bytes = bytes * size_of(e);
  return bytes;
}

// Is the buffer read, and only at places that data decide? Then a part of it is.
class PlacesFromData {
 public:
  explicit PlacesFromData(const tir::PrimFunc& kernel) {
    tir::for_each_node(kernel.body, tir::Overloaded{[&](const tir::Stmt& s) { define(s); },
                                                    [&](const tir::Expr& e) { read(e); }});
  }
  bool decide(const tir::Buffer& buffer) const {
    return by_data_.contains(buffer.get()) && !by_loops_.contains(buffer.get());
  }

 private:
  void define(const tir::Stmt& s) {
    const auto* let = s.as<tir::LetStmt>();
    if (let != nullptr && is_of_data(let->value)) vars_.insert(let->var.get());
  }

  void read(const tir::Expr& e) {
    const auto* load = e.as<tir::Load>();
    if (load == nullptr) return;
    const bool by_data = std::any_of(load->indices.begin(), load->indices.end(),
                                     [&](const tir::Expr& i) { return is_of_data(i); });
    (by_data ? by_data_ : by_loops_).insert(load->buffer.get());
  }

  bool is_of_data(const tir::Expr& e) const {
    bool found = false;
    tir::for_each_node(e, [&](const tir::Expr& part) {
      found = found || part.as<tir::Load>() != nullptr || vars_.contains(part.get());
    });
    return found;
  }

  std::set<const tir::BufferNode*> by_data_, by_loops_;
  std::set<const tir::ExprNode*> vars_;
};

// Without the tables and the scratch memory that follow the tensors of the signature.
std::vector<tir::Buffer> first(const std::vector<tir::Buffer>& buffers, std::size_t count) {
  return {buffers.begin(),
          buffers.begin() + static_cast<std::ptrdiff_t>(std::min(count, buffers.size()))};
}

Dim bytes_of(const tir::CallKernel& call, const Module& module) {
  const Extern& callee = module.externs.at(call.symbol);
  Dim written = 0, read = 0;
  std::set<const tir::BufferNode*> seen;
  for (const tir::Buffer& b : first(call.outputs, callee.outputs.size())) {
    if (seen.insert(b.get()).second) written = written + bytes_of(b);
  }
  const auto kernel = module.prim_funcs.find(call.symbol);
  std::optional<PlacesFromData> places;
  if (kernel != module.prim_funcs.end()) places.emplace(kernel->second);
  const std::vector<tir::Buffer> inputs = first(call.inputs, callee.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!seen.insert(inputs[i].get()).second) continue;
    const bool is_part =
        places && i < kernel->second.inputs.size() && places->decide(kernel->second.inputs[i]);
    read = read + (is_part ? min(bytes_of(inputs[i]), written) : bytes_of(inputs[i]));
  }
  for (const ConstantIndex index : callee.constants) {
    read = read + Dim(static_cast<std::int64_t>(module.constants.resolve(index).size_bytes()));
  }
  return read + written;
}

bool is_narrow(const Extern& callee) {
  const auto has_16_bits = [](const std::vector<Type>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [](const Type& t) {
      return t.dtype() == kFloat16 || t.dtype() == kBFloat16;
    });
  };
  return callee.float32_precision != kFloat32 || has_16_bits(callee.inputs) ||
         has_16_bits(callee.outputs);
}

// What the symbols of a body's parameters are in this call: other calls may share the kernel.
Dim flops_of(const tir::CallKernel& call, const relay::Function& body) {
  std::vector<Type> tensors;
  for (const relay::NodeId p : body.params()) {
    for (Type& t : flatten(body.type(p))) tensors.push_back(std::move(t));
  }
  std::map<std::string, Dim> values;
  for (std::size_t i = 0; i < std::min(tensors.size(), call.inputs.size()); ++i) {
    const Shape& formal = tensors[i].shape();
    const std::vector<tir::Expr>& given = call.inputs[i]->shape;
    for (std::size_t d = 0; d < std::min(formal.size(), given.size()); ++d) {
      const std::string name = formal[d].is_symbolic() ? formal[d].expression_text() : "";
      if (is_symbol_name(name)) values.emplace(name, size_of(given[d]));
    }
  }
  return ops::flops_of(body).substitute(values);
}

}  // namespace

Dim size_of(const tir::Expr& e) {
  return parse_dim_expression("(" + tir::print(e) + ")").value_or(Dim::unknown());
}

std::vector<StepCost> step_costs(const Module& lowered) {
  std::vector<StepCost> costs;
  tir::for_each_node(lowered.prim_funcs.at("main").body, [&](const tir::Stmt& s) {
    const auto* call = s.as<tir::CallKernel>();
    if (call == nullptr) return;
    const auto body = lowered.functions.find(call->symbol);
    // A kernel that no operator asks for copies.
    Dim flops = lowered.prim_funcs.contains(call->symbol) ? Dim(0) : Dim::unknown();
    if (body != lowered.functions.end()) flops = flops_of(*call, body->second);
    std::vector<Dim> dims;
    for (const tir::Expr& e : call->dims) dims.push_back(size_of(e));
    costs.push_back({call->symbol, flops, bytes_of(*call, lowered),
                     is_narrow(lowered.externs.at(call->symbol)), std::move(dims)});
  });
  return costs;
}

}  // namespace tessera::driver
