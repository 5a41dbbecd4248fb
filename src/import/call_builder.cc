// SPDX-License-Identifier: Apache-2.0
#include "import/call_builder.h"

namespace tessera::import {
namespace {

// Folding makes constants of at most this size: the arithmetic of shapes and small tables, not a
// second copy of every weight (the pass fold-constant does that where it pays).
constexpr std::int64_t kFoldedBytes = 1 << 16;

void check_arity(const relay::Operator& op, std::size_t given, const Location& at) {
  const std::size_t most = op.operands.size();
  const std::size_t least = most - static_cast<std::size_t>(op.optional_operands);
  if (given >= least && (given <= most || op.variadic)) return;
  throw NodeError{
      error(Code::kWrongArity, at, "`{}` takes {} operands; {} are given", op.name,
            least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most), given)};
}

// An unknown size among known ones is a product or sum that left 64 bits.
void check_sizes(const relay::Operator& op, const Type& type, const Location& at) {
  for (const Type& tensor : flatten(type)) {
    const auto sizes = constant_shape(tensor.shape());
    std::int64_t bytes = tensor.dtype().size_bytes();
    for (const std::int64_t n : sizes.value_or(std::vector<std::int64_t>{})) {
      if (!__builtin_mul_overflow(bytes, n, &bytes)) continue;
      throw NodeError{error(Code::kBadDimension, at,
                            "the size of the result of `{}`, {}, overflows 64 bits", op.name,
                            to_string(tensor))
                          .with_remedy("check the sizes of the model's inputs and --dim")};
    }
  }
}

// Can the result be computed here? Its size is known, and small.
bool is_small(const Type& type) {
  std::int64_t bytes = 0;
  for (const Type& tensor : flatten(type)) {
    const auto count = num_elements(tensor.shape()).as_constant();
    if (!count) return false;
    bytes += *count * tensor.dtype().size_bytes();
  }
  return bytes <= kFoldedBytes;
}

}  // namespace

void CallBuilder::at(const Location& location) {
  location_ = location;
  builder_.at(location);
}

NodeId CallBuilder::param(const std::string& name, const Type& type) {
  const NodeId id = builder_.param(name, type);
  builder_.set_type(id, type);
  return id;
}

NodeId CallBuilder::constant(Tensor tensor) {
  const Type type = tensor.type();
  const NodeId id = tensor.is_scalar()
                        ? builder_.constant(std::move(tensor))
                        : builder_.constant(ConstantValue(constants_.add(std::move(tensor))));
  builder_.set_type(id, type);
  return id;
}

NodeId CallBuilder::tuple(std::span<const NodeId> fields) {
  std::vector<Type> types;
  for (const NodeId f : fields) types.push_back(type(f));
  const NodeId id = builder_.tuple(fields);
  builder_.set_type(id, tuple_type(std::move(types)));
  return id;
}

NodeId CallBuilder::project(NodeId tuple, int index) {
  const relay::Function& made = builder_.peek();
  if (made.as<relay::Tuple>(tuple) != nullptr) {
    return made.operands(tuple)[static_cast<std::size_t>(index)];
  }
  const Type field = type(tuple).fields()[static_cast<std::size_t>(index)];
  const NodeId id = builder_.project(tuple, index);
  builder_.set_type(id, field);
  return id;
}

NodeId CallBuilder::call(const relay::Operator& op, std::span<const NodeId> args, Attrs attrs) {
  check_arity(op, args.size(), location_);
  if (const auto finding = op.attrs().normalize(attrs)) {
    throw NodeError{error(Code::kWrongAttribute, location_, "`{}`: {}", op.name, *finding)};
  }
  const Type result = infer(op, args, attrs);
  check_sizes(op, result, location_);
  if (const auto folded = fold(op, args, attrs, result)) return *folded;
  const NodeId id = builder_.call(op, args, std::move(attrs));
  builder_.set_type(id, result);
  return id;
}

const Tensor* CallBuilder::constant_of(NodeId id) const {
  const auto* constant = builder_.peek().as<relay::Constant>(id);
  return constant == nullptr ? nullptr : &constants_.resolve(constant->value);
}

relay::Function CallBuilder::finish(NodeId result, Attrs attrs) {
  return builder_.finish(result, std::move(attrs));
}

Type CallBuilder::infer(const relay::Operator& op, std::span<const NodeId> args,
                        const Attrs& attrs) const {
  std::vector<Type> types;
  std::vector<const Tensor*> values;
  for (const NodeId arg : args) {
    types.push_back(type(arg));
    values.push_back(constant_of(arg));
  }
  Result<Type> result = op.infer({types, values, attrs, location_, op.name});
  if (!result) throw NodeError{result.error().list.front()};
  return std::move(*result);
}

std::optional<NodeId> CallBuilder::fold(const relay::Operator& op, std::span<const NodeId> args,
                                        const Attrs& attrs, const Type& type) {
  if (op.eval == nullptr || op.has_effect || !is_small(type)) return std::nullopt;
  std::vector<Tensor> operands;
  std::int64_t operand_bytes = 0;
  for (const NodeId arg : args) {
    const relay::Function& made = builder_.peek();
    const bool is_tuple = made.as<relay::Tuple>(arg) != nullptr;
    for (const NodeId field : is_tuple ? made.operands(arg) : std::span<const NodeId>(&arg, 1)) {
      const Tensor* tensor = constant_of(field);
      if (tensor == nullptr) return std::nullopt;
      operands.push_back(*tensor);
      operand_bytes += tensor->size_bytes();
    }
  }
  // A matrix product or reduction of weights belongs to fold-constant, which runs in parallel.
  if (operand_bytes > 4 * kFoldedBytes) return std::nullopt;
  std::vector<Tensor> results = op.eval({operands, attrs, type});
  if (type.is_tensor()) return constant(std::move(results[0]));
  std::vector<NodeId> fields;
  for (Tensor& result : results) fields.push_back(constant(std::move(result)));
  return tuple(fields);
}

}  // namespace tessera::import
