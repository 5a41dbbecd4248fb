// SPDX-License-Identifier: Apache-2.0
#include "backends/blas/product.h"

#include <limits>

#include "relay/patterns/refuse.h"

namespace tessera::backends::blas {
namespace {

using byoc::Refusal;
using relay::Function;
using relay::NodeId;
using relay::refuse;

Dim batch_of(const Shape& shape) { return num_elements({shape.begin(), shape.end() - 2}); }

bool flag(const Function& f, NodeId call, std::string_view name) {
  return f.as<relay::OpCall>(call)->attrs.int_or_zero(name) != 0;
}

// Batches that are the same, or a second factor without one: then batch and rows are one.
std::optional<Refusal> add_batch(const Shape& a, const Shape& b, Product& p) {
  const Dim batch_a = batch_of(a), batch_b = batch_of(b), one = 1;
  if (batch_b == one && !p.transpose_a) {
    p.m = p.m * batch_a;
    p.rows_of_batch = true;
    return std::nullopt;
  }
  if (batch_b != one && batch_a != one &&
      Shape(a.begin(), a.end() - 2) != Shape(b.begin(), b.end() - 2)) {
    return Refusal{"the batches are broadcast against each other"};
  }
  p.batch = batch_a == one ? batch_b : batch_a;
  p.stride_a = batch_a == one ? Dim(0) : p.m * p.k;
  p.stride_b = batch_b == one ? Dim(0) : p.k * p.n;
  return std::nullopt;
}

Expected<double, Refusal> alpha_of(const relay::Match& match) {
  const NodeId id = match.find("alpha");
  if (!id) return 1.0;
  const auto& value = match.function->as<relay::Constant>(id)->value;
  const auto* tensor = std::get_if<Tensor>(&value);
  if (tensor == nullptr && match.pool != nullptr) tensor = &match.pool->resolve(value);
  if (tensor == nullptr || tensor->num_elements() != 1) return refuse("the factor is not a scalar");
  return element_as_double(*tensor, 0);
}

}  // namespace

Expected<Product, Refusal> describe(const relay::Match& match) {
  const Function& f = *match.function;
  const NodeId core = match.find("core");
  const auto operands = f.operands(core);
  const Type &type_a = f.type(operands[0]), &type_b = f.type(operands[1]), &result = f.type(core);
  const Shape &a = type_a.shape(), &b = type_b.shape();
  for (const Shape* shape : {&a, &b}) {
    for (const Dim& d : *shape) {
      if (d.is_unknown()) return refuse("a size is not known");
      if (d == Dim(0)) return refuse("a matrix is empty");
    }
  }
  if (f.type(match.root) != result) return refuse("the scaling changes the result's shape");
  const DType dtype = type_a.dtype();
  if (type_b.dtype() != dtype) {
    return refuse("the factors are {} and {}", to_string(dtype), to_string(type_b.dtype()));
  }
  if ((dtype != kFloat32 && dtype != kFloat64) || result.dtype() != dtype) {
    return refuse("data type {} is neither float32 nor float64", to_string(dtype));
  }
  Product p;
  p.a = operands[0];
  p.b = operands[1];
  p.bits = dtype.bits;
  const bool dense = f.op(core)->name == "nn.dense";
  p.transpose_a = !dense && flag(f, core, "transpose_a");
  p.transpose_b = dense || flag(f, core, "transpose_b");
  p.rank_a = a.size();
  p.rank_b = b.size();
  p.m = a[p.rank_a - (p.transpose_a ? 1 : 2)];
  p.k = a[p.rank_a - (p.transpose_a ? 2 : 1)];
  p.n = b[p.rank_b - (p.transpose_b ? 2 : 1)];
  if (auto why = add_batch(a, b, p)) return {Unexpected<Refusal>{*why}};
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  for (const Dim& d : {p.m, p.n, p.k}) {
    if (d.as_constant().value_or(0) > kLargest) return refuse("a size is above 2^31");
  }
  TESSERA_TRY(p.alpha, alpha_of(match));
  return p;
}

}  // namespace tessera::backends::blas
