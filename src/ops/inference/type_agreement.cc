// SPDX-License-Identifier: Apache-2.0
#include "ops/inference/type_agreement.h"

#include "ops/inference/infer_types.h"

namespace tessera::ops {
namespace {

// Both types at once, field by field; `dim` joins two sizes.
template <class F>
Type joined(const Type& a, const Type& b, F dim) {
  if (a.is_tensor()) {
    Shape shape;
    for (std::size_t i = 0; i < a.rank(); ++i) shape.push_back(dim(a.shape()[i], b.shape()[i]));
    return tensor_type(std::move(shape), a.dtype());
  }
  const auto each = [&](const std::vector<Type>& x, const std::vector<Type>& y) {
    std::vector<Type> out;
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(joined(x[i], y[i], dim));
    return out;
  };
  if (a.is_tuple()) return tuple_type(each(a.fields(), b.fields()));
  return function_type(each(a.params(), b.params()), joined(a.result(), b.result(), dim));
}

bool all_compatible(const std::vector<Type>& wanted, const std::vector<Type>& found) {
  if (wanted.size() != found.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!is_compatible(wanted[i], found[i])) return false;
  }
  return true;
}

}  // namespace

bool is_compatible(const Type& wanted, const Type& found) {
  if (wanted.is_tensor() != found.is_tensor() || wanted.is_tuple() != found.is_tuple())
    return false;
  if (wanted.is_tuple()) return all_compatible(wanted.fields(), found.fields());
  if (wanted.is_function()) {
    return all_compatible(wanted.params(), found.params()) &&
           is_compatible(wanted.result(), found.result());
  }
  if (wanted.dtype() != found.dtype() || wanted.rank() != found.rank()) return false;
  for (std::size_t i = 0; i < wanted.rank(); ++i) {
    if (provably_equal(wanted.shape()[i], found.shape()[i]) == Tri::kNo) return false;
  }
  return true;
}

Type common_type(const Type& a, const Type& b) {
  return joined(a, b, [](const Dim& x, const Dim& y) {
    return provably_equal(x, y) == Tri::kYes ? x : Dim::unknown();
  });
}

Type refined_type(const Type& annotation, const Type& found) {
  if (!annotation) return found;
  return joined(annotation, found, [](const Dim& x, const Dim& y) {
    if (x.is_constant()) return x;
    return y.is_constant() || x.is_unknown() ? y : x;
  });
}

std::optional<Diagnostic> wrong_operands(const relay::Operator& op, std::span<const Type> types,
                                         const Location& at) {
  const std::size_t most = op.operands.size();
  const std::size_t least = most - static_cast<std::size_t>(op.optional_operands);
  if (types.size() < least || (types.size() > most && !op.variadic)) {
    const std::string wanted =
        least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
    return error(Code::kWrongArity, at, "`{}` takes {} operands, found {}", op.name, wanted,
                 types.size());
  }
  if (op.takes_tuples) return std::nullopt;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].is_tensor()) continue;
    return error(Code::kTypeMismatch, at, "operand {} of `{}` has type {}, it must be a tensor",
                 i + 1, op.name, to_string(types[i]));
  }
  return std::nullopt;
}

}  // namespace tessera::ops
