// SPDX-License-Identifier: Apache-2.0
// Calls of operators whose operands are constants are evaluated, branches on constant conditions
// taken (relay-spec 2.11).
#include <map>

#include "diagnostics/limits.h"
#include "ops/evaluation/evaluate_call.h"
#include "passes/pass.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"
#include "types/computed.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;
using relay::RegionId;

// By region: is it inside a literal with `Primitive`? Those are kernels already.
std::vector<bool> primitive_regions(const relay::Function& f) {
  std::vector<bool> inside(f.num_regions(), false);
  for (std::size_t i = 1; i < f.num_regions(); ++i) {
    const relay::Region& region = f.region(RegionId(i));
    const auto* literal = region.owner ? f.as<relay::Literal>(region.owner) : nullptr;
    inside[i] = inside[region.parent.index()] ||
                (literal != nullptr && relay::is_primitive(literal->attrs));
  }
  return inside;
}

struct FoldConstantOptions {
  std::int64_t work = limits_for(0).fold_work, bytes = limits_for(0).constant_bytes;
  static constexpr auto fields = std::tuple{relay::attr("work", &FoldConstantOptions::work),
                                            relay::attr("bytes", &FoldConstantOptions::bytes)};
};

// What evaluating may take. A call that is too dear for it is left to the run.
class FoldBudget {
 public:
  explicit FoldBudget(const FoldConstantOptions& options)
      : work_(static_cast<double>(options.work)), bytes_(static_cast<double>(options.bytes)) {}
  bool take(const ops::EvaluationCost& cost) {
    if (cost.work > work_ || cost.bytes > bytes_) return false;
    work_ -= cost.work;
    bytes_ -= cost.bytes;
    return true;
  }

 private:
  double work_, bytes_;
};

class Folder {
 public:
  Folder(const relay::Function& f, const ConstantPool& pool, FoldBudget& budget)
      : f_(f), pool_(pool), budget_(budget), in_primitive_(primitive_regions(f)) {}

  relay::Function run() {
    return relay::rewrite(
        f_, [&](Copier& c, NodeId id) { return fold(c, id); },
        [&](Copier& c, RegionId region) {
          return taken_branch(c, f_.region(region).owner).has_value();
        });
  }

 private:
  std::optional<NodeId> fold(Copier& c, NodeId id) {
    if (in_primitive_[f_[id].region.index()]) return std::nullopt;
    switch (f_[id].kind()) {
      case relay::NodeKind::kOpCall:
        return fold_call(c, id);
      case relay::NodeKind::kProject:
        return fold_projection(c, id);
      case relay::NodeKind::kLet:
        return fold_let(c, id);
      case relay::NodeKind::kIf:
        return fold_if(c, id);
      default:
        return std::nullopt;
    }
  }

  std::optional<NodeId> fold_call(Copier& c, NodeId id) {
    const auto& call = *f_.as<relay::OpCall>(id);
    const Type& type = f_.type(id);
    if (uncomputed_tensor(type)) return std::nullopt;
    if (is_shape_query(*call.op)) return fold_shape_query(c, id);
    if (!is_foldable(*call.op) || f_.operands(id).empty() || is_dynamic(type)) return std::nullopt;
    std::vector<Tensor> operands;
    std::vector<Type> types;
    for (const NodeId operand : f_.operands(id)) {
      if (uncomputed_tensor(f_.type(operand))) return std::nullopt;
      const std::size_t before = operands.size();
      if (!collect(c, c.map(operand), operands)) return std::nullopt;
      types.push_back(type_of(f_.type(operand), std::span(operands).subspan(before)));
    }
    if (!budget_.take(ops::evaluation_cost(*call.op, types, call.attrs, type))) return std::nullopt;
    // What cannot be evaluated is left to the run, which says why.
    const auto results = ops::evaluate_call(*call.op, {operands, call.attrs, type});
    return results ? std::optional(make(c, type, *results)) : std::nullopt;
  }

  // Random and stateful operators run each time, as marks stay; dropout is left to
  // simplify-inference. Weights of blocks are so narrow because they have to be small.
  static bool is_foldable(const relay::Operator& op) {
    return op.eval != nullptr && !op.has_effect && op.name != "nn.dropout" &&
           op.name != "device_copy" && op.name != "qnn.dequantize_blocks" &&
           op.name != "qnn.unpack_blocks" && op.name != "qnn.unpack_fragments";
  }
  // Answered by the type alone, whatever the operand is.
  static bool is_shape_query(const relay::Operator& op) {
    return op.name == "shape_of" || op.name == "ndarray_size";
  }

  // The type of data that are known, where inference may have left sizes open.
  static Type type_of(const Type& inferred, std::span<const Tensor> data) {
    std::vector<Type> parts;
    for (const Tensor& t : data) parts.push_back(t.type());
    return inferred.is_tuple() ? tuple_type(std::move(parts)) : parts.at(0);
  }

  std::optional<NodeId> fold_shape_query(Copier& c, NodeId id) {
    const Type& operand = f_.type(f_.operands(id)[0]);
    if (!operand || !operand.is_tensor()) return std::nullopt;
    const auto sizes = constant_shape(operand.shape());
    if (!sizes) return std::nullopt;
    const DType dtype = f_.type(id).dtype();
    if (f_.op(id)->name == "shape_of") {
      const auto rank = static_cast<std::int64_t>(sizes->size());
      return make(c, f_.type(id), {tensor_from_ints({rank}, dtype, *sizes)});
    }
    std::int64_t count = 1;
    for (const std::int64_t d : *sizes) count *= d;
    return make(c, f_.type(id), {tensor_from_ints({}, dtype, std::span(&count, 1))});
  }

  std::optional<NodeId> fold_projection(Copier& c, NodeId id) {
    const NodeId tuple = c.map(f_.operands(id)[0]);
    const relay::Function& made = c.builder().peek();
    if (made.as<relay::Tuple>(tuple) == nullptr) return std::nullopt;
    return made.operands(tuple)[static_cast<std::size_t>(f_.as<relay::Project>(id)->index)];
  }

  std::optional<NodeId> fold_let(Copier& c, NodeId id) {
    const NodeId value = c.map(f_.operands(id)[0]);
    const bool constant = c.builder().peek().as<relay::Constant>(value) != nullptr;
    return constant || is_skipped(c, f_[id].region) ? std::optional(value) : std::nullopt;
  }

  // The branch of an `if` whose condition is constant. Asked for the first time before its branches
  // are copied, and the answer holds.
  std::optional<RegionId> taken_branch(Copier& c, NodeId id) {
    const auto [it, fresh] = taken_.try_emplace(id);
    if (!fresh || in_primitive_[f_[id].region.index()]) return it->second;
    const NodeId condition = c.map(f_.operands(id)[0]);
    const auto* constant = condition ? c.builder().peek().as<relay::Constant>(condition) : nullptr;
    if (constant != nullptr) {
      const auto& branch = *f_.as<relay::If>(id);
      const bool holds = element_as_int(pool_.resolve(constant->value), 0) != 0;
      it->second = holds ? branch.then_region : branch.else_region;
    }
    return it->second;
  }

  std::optional<NodeId> fold_if(Copier& c, NodeId id) {
    const auto taken = taken_branch(c, id);
    return taken ? std::optional(c.map(f_.region(*taken).result)) : std::nullopt;
  }

  // Is the region in a branch that is not taken? Its nodes are made, and nothing uses them.
  bool is_skipped(Copier& c, RegionId region) {
    for (; f_.region(region).owner; region = f_.region(region).parent) {
      const NodeId owner = f_.region(region).owner;
      if (f_.as<relay::If>(owner) == nullptr) continue;
      const auto taken = taken_branch(c, owner);
      if (taken && *taken != region) return true;
    }
    return false;
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

  static NodeId make(Copier& c, const Type& type, const std::vector<Tensor>& results) {
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

  const relay::Function& f_;
  const ConstantPool& pool_;
  FoldBudget& budget_;
  const std::vector<bool> in_primitive_;             // by region
  std::map<NodeId, std::optional<RegionId>> taken_;  // by `if`
};

Result<Module> run_fold_constant(Module module, PassContext& context) {
  FoldBudget budget(relay::read_attrs<FoldConstantOptions>(context.options));
  return map_optimizable(std::move(module),
                         [&](const relay::Function& f, const ConstantPool& pool) {
                           if (relay::is_primitive(f.attrs)) return f;
                           return Folder(f, pool, budget).run();
                         });
}

}  // namespace

extern const Pass fold_constant;
const Pass fold_constant{
    .name = "fold-constant",
    .summary =
        "evaluates calls whose operands are constants, and shape queries of known shapes, "
        "as far as `work` element operations and `bytes` of results go",
    .options = relay::attr_schema<FoldConstantOptions>,
    .run = run_fold_constant,
};

}  // namespace tessera::passes
