// SPDX-License-Identifier: Apache-2.0
// Calls of operators whose operands are constants are evaluated (relay-spec 2.11).
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;

class Folder {
 public:
  Folder(const relay::Function& f, const ConstantPool& pool) : f_(f), pool_(pool) {}

  relay::Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return fold(c, id); });
  }

 private:
  std::optional<NodeId> fold(Copier& c, NodeId id) {
    if (in_primitive(f_[id].region)) return std::nullopt;
    switch (f_[id].kind()) {
      case relay::NodeKind::kOpCall:
        return fold_call(c, id);
      case relay::NodeKind::kProject:
        return fold_projection(c, id);
      case relay::NodeKind::kLet:
        return fold_let(c, id);
      default:
        return std::nullopt;
    }
  }

  std::optional<NodeId> fold_call(Copier& c, NodeId id) {
    const auto& call = *f_.as<relay::OpCall>(id);
    const Type& type = f_.type(id);
    if (is_shape_query(*call.op)) return fold_shape_of(c, id);
    if (!is_foldable(*call.op) || f_.operands(id).empty() || is_dynamic(type)) return std::nullopt;
    std::vector<Tensor> operands;
    for (const NodeId operand : f_.operands(id)) {
      if (!collect(c, c.map(operand), operands)) return std::nullopt;
    }
    const std::vector<Tensor> results = call.op->eval({operands, call.attrs, type});
    return make(c, type, results);
  }

  // Random and stateful operators run each time; dropout is left to simplify-inference.
  static bool is_foldable(const relay::Operator& op) {
    return op.eval != nullptr && !op.has_effect && op.name != "nn.dropout";
  }
  // Answered by the type alone, whatever the operand is.
  static bool is_shape_query(const relay::Operator& op) { return op.name == "shape_of"; }

  std::optional<NodeId> fold_shape_of(Copier& c, NodeId id) {
    const Type& operand = f_.type(f_.operands(id)[0]);
    if (!operand || !operand.is_tensor()) return std::nullopt;
    const auto sizes = constant_shape(operand.shape());
    if (!sizes) return std::nullopt;
    const Tensor shape =
        tensor_from_ints({static_cast<std::int64_t>(sizes->size())}, f_.type(id).dtype(), *sizes);
    return make(c, f_.type(id), {shape});
  }

  std::optional<NodeId> fold_projection(Copier& c, NodeId id) {
    const NodeId tuple = c.map(f_.operands(id)[0]);
    const relay::Function& made = c.builder().peek();
    if (made.as<relay::Tuple>(tuple) == nullptr) return std::nullopt;
    const NodeId field =
        made.operands(tuple)[static_cast<std::size_t>(f_.as<relay::Project>(id)->index)];
    return made.as<relay::Constant>(field) != nullptr ? std::optional(field) : std::nullopt;
  }

  std::optional<NodeId> fold_let(Copier& c, NodeId id) {
    const NodeId value = c.map(f_.operands(id)[0]);
    const bool constant = c.builder().peek().as<relay::Constant>(value) != nullptr;
    return constant ? std::optional(value) : std::nullopt;
  }

  // Appends the tensors of a constant or of a (nested) tuple of constants.
  bool collect(Copier& c, NodeId id, std::vector<Tensor>& out) const {
    const relay::Function& made = c.builder().peek();
    if (const auto* constant = made.as<relay::Constant>(id)) {
      out.push_back(pool_.resolve(constant->value));
      return true;
    }
    if (made.as<relay::Tuple>(id) == nullptr) return false;
    for (const NodeId field : made.operands(id)) {
      if (!collect(c, field, out)) return false;
    }
    return true;
  }

  std::optional<NodeId> make(Copier& c, const Type& type,
                             const std::vector<Tensor>& results) const {
    std::vector<NodeId> fields;
    for (const Tensor& t : results) {
      fields.push_back(c.builder().constant(t));
      c.builder().set_type(fields.back(), t.type());
    }
    if (type.is_tensor()) return fields[0];
    const NodeId tuple = c.builder().tuple(fields);
    c.builder().set_type(tuple, type);
    return tuple;
  }

  bool in_primitive(relay::RegionId region) const {
    for (; region; region = f_.region(region).parent) {
      const NodeId owner = f_.region(region).owner;
      const auto* literal = owner ? f_.as<relay::Literal>(owner) : nullptr;
      if (literal != nullptr && literal->attrs.int_or_zero("Primitive") != 0) return true;
    }
    return f_.attrs.int_or_zero("Primitive") != 0;
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
};

Result<Module> run(Module module, PassContext&) {
  return map_optimizable(std::move(module), [](const relay::Function& f, const ConstantPool& pool) {
    return Folder(f, pool).run();
  });
}

}  // namespace

extern const Pass fold_constant;
const Pass fold_constant{
    .name = "fold-constant",
    .summary = "evaluates calls whose operands are constants, and shape queries of known shapes",
    .run = run,
};

}  // namespace tessera::passes
