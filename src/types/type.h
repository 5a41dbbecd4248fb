// SPDX-License-Identifier: Apache-2.0
// Types of values: tensors, tuples, functions. Text is Relay's (relay-spec 1.4).
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "types/dim.h"
#include "types/dtype.h"

namespace tessera {

struct TypeData;

// A shared immutable handle. The default is "not known yet" (type inference fills it in).
class Type {
 public:
  Type() = default;
  explicit operator bool() const { return static_cast<bool>(data_); }

  bool is_tensor() const;
  bool is_tuple() const;
  bool is_function() const;
  // Each needs the kind it names.
  const Shape& shape() const;
  DType dtype() const;
  const std::vector<Type>& fields() const;
  const std::vector<Type>& params() const;
  const Type& result() const;
  std::size_t rank() const { return shape().size(); }

  // Structural; `?` equals `?`. Two unknown types are equal.
  friend bool operator==(const Type& a, const Type& b);
  std::uint64_t hash() const;

 private:
  friend Type tensor_type(Shape, DType);
  friend Type tuple_type(std::vector<Type>);
  friend Type function_type(std::vector<Type>, Type);
  explicit Type(std::shared_ptr<const TypeData> data) : data_(std::move(data)) {}
  std::shared_ptr<const TypeData> data_;
};

Type tensor_type(Shape shape, DType dtype);
Type tuple_type(std::vector<Type> fields);
Type function_type(std::vector<Type> params, Type result);

// Has it a dimension that is not an integer?
bool is_dynamic(const Type& type);
// The tensors of a type in order, tuples flattened.
std::vector<Type> flatten(const Type& type);
// `Tensor[(2, 3), float32]`, `float32`, `(float32, bool)`, `fn (float32) -> bool`; `<unknown>` for
// none.
std::string to_string(const Type& type);

}  // namespace tessera
