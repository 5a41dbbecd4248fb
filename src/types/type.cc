// SPDX-License-Identifier: Apache-2.0
#include "types/type.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/check.h"
#include "support/hash.h"

namespace tessera {

struct TensorData {
  Shape shape;
  DType dtype;
  bool operator==(const TensorData&) const = default;
};
struct TupleData {
  std::vector<Type> fields;
  bool operator==(const TupleData&) const = default;
};
struct FunctionData {
  std::vector<Type> params;
  Type result;
  bool operator==(const FunctionData&) const = default;
};
struct TypeData {
  std::variant<TensorData, TupleData, FunctionData> kind;
};

namespace {

template <class T>
const T* get_kind(const std::shared_ptr<const TypeData>& data) {
  return data ? std::get_if<T>(&data->kind) : nullptr;
}

std::string join(const std::vector<Type>& types) {
  std::string out;
  for (const auto& type : types) {
    if (!out.empty()) out += ", ";
    out += to_string(type);
  }
  return out;
}

void flatten_into(const Type& type, std::vector<Type>& out) {
  if (type.is_tensor()) out.push_back(type);
  if (!type.is_tuple()) return;
  for (const auto& field : type.fields()) flatten_into(field, out);
}

}  // namespace

bool Type::is_tensor() const { return get_kind<TensorData>(data_) != nullptr; }
bool Type::is_tuple() const { return get_kind<TupleData>(data_) != nullptr; }
bool Type::is_function() const { return get_kind<FunctionData>(data_) != nullptr; }

const Shape& Type::shape() const {
  TESSERA_CHECK(is_tensor(), "{} has no shape", to_string(*this));
  return get_kind<TensorData>(data_)->shape;
}
DType Type::dtype() const {
  TESSERA_CHECK(is_tensor(), "{} has no dtype", to_string(*this));
  return get_kind<TensorData>(data_)->dtype;
}
const std::vector<Type>& Type::fields() const {
  TESSERA_CHECK(is_tuple(), "{} has no fields", to_string(*this));
  return get_kind<TupleData>(data_)->fields;
}
const std::vector<Type>& Type::params() const {
  TESSERA_CHECK(is_function(), "{} has no parameters", to_string(*this));
  return get_kind<FunctionData>(data_)->params;
}
const Type& Type::result() const {
  TESSERA_CHECK(is_function(), "{} has no result", to_string(*this));
  return get_kind<FunctionData>(data_)->result;
}

bool operator==(const Type& a, const Type& b) {
  if (a.data_ == b.data_) return true;
  return a.data_ && b.data_ && a.data_->kind == b.data_->kind;
}

std::uint64_t Type::hash() const {
  if (!data_) return 0;
  std::uint64_t h = data_->kind.index() + 1;
  if (is_tensor()) {
    h = hash_combine(h, static_cast<std::uint64_t>(dtype().code));
    h = hash_combine(h, (std::uint64_t{dtype().bits} << 16) | dtype().lanes);
    for (const auto& dim : shape()) h = hash_combine(h, dim.hash());
  } else if (is_tuple()) {
    for (const auto& field : fields()) h = hash_combine(h, field.hash());
  } else {
    for (const auto& param : params()) h = hash_combine(h, param.hash());
    h = hash_combine(h, result().hash());
  }
  return h;
}

Type tensor_type(Shape shape, DType dtype) {
  return Type(std::make_shared<const TypeData>(TypeData{TensorData{std::move(shape), dtype}}));
}
Type tuple_type(std::vector<Type> fields) {
  return Type(std::make_shared<const TypeData>(TypeData{TupleData{std::move(fields)}}));
}
Type function_type(std::vector<Type> params, Type result) {
  return Type(std::make_shared<const TypeData>(
      TypeData{FunctionData{std::move(params), std::move(result)}}));
}

bool is_dynamic(const Type& type) {
  if (type.is_tensor()) {
    return std::any_of(type.shape().begin(), type.shape().end(),
                       [](const Dim& dim) { return !dim.is_constant(); });
  }
  if (type.is_tuple()) {
    return std::any_of(type.fields().begin(), type.fields().end(), is_dynamic);
  }
  return type.is_function() &&
         (is_dynamic(type.result()) ||
          std::any_of(type.params().begin(), type.params().end(), is_dynamic));
}

std::vector<Type> flatten(const Type& type) {
  std::vector<Type> out;
  flatten_into(type, out);
  return out;
}

std::string to_string(const Type& type) {
  if (!type) return "<unknown>";
  if (type.is_tensor()) {
    if (type.rank() == 0) return to_string(type.dtype());
    return fmt::format("Tensor[{}, {}]", to_string(type.shape()), to_string(type.dtype()));
  }
  if (type.is_tuple()) {
    return fmt::format("({}{})", join(type.fields()), type.fields().size() == 1 ? "," : "");
  }
  return fmt::format("fn ({}) -> {}", join(type.params()), to_string(type.result()));
}

}  // namespace tessera
