// SPDX-License-Identifier: Apache-2.0
// Operators that only training needs become what inference computes (contract
// `simplify-inference`).
#include "ops/attrs/norm.h"
#include "ops/records/table.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;

// y = x * s + t with s = gamma / sqrt(var + eps) and t = beta - mean * s; per channel, so that
// later folding makes both constants.
class BatchNormExpansion {
 public:
  BatchNormExpansion(Copier& c, NodeId call)
      : c_(c),
        operands_(c.operands(call)),
        x_type_(c.from().type(c.from().operands(call)[0])),
        channel_dtype_(c.from().type(c.from().operands(call)[1]).dtype()),
        attrs_(relay::read_attrs<ops::BatchNormAttrs>(c.from().as<relay::OpCall>(call)->attrs)) {}

  NodeId run() {
    const NodeId x = operands_[0], gamma = operands_[1], beta = operands_[2], mean = operands_[3],
                 variance = operands_[4];
    NodeId s = make("divide",
                    {scalar(1), make("sqrt", {make("add", {variance, scalar(attrs_.epsilon)})})});
    if (attrs_.scale) s = make("multiply", {s, gamma});
    NodeId t = make("multiply", {make("negative", {mean}), s});
    if (attrs_.center) t = make("add", {t, beta});
    return make("add", {make("multiply", {x, along_axis(s)}), along_axis(t)});
  }

 private:
  NodeId make(std::string_view op, std::initializer_list<NodeId> args, relay::Attrs attrs = {}) {
    return c_.builder().call(ops::op(op), args, std::move(attrs));
  }
  NodeId scalar(double value) {
    return c_.builder().constant(tensor_from_doubles({}, channel_dtype_, std::span(&value, 1)));
  }
  // One value a channel, brought to where broadcasting meets the channels of x.
  NodeId along_axis(NodeId v) {
    const auto rank = static_cast<std::int64_t>(x_type_.rank());
    const std::int64_t axis = attrs_.axis < 0 ? attrs_.axis + rank : attrs_.axis;
    if (axis == rank - 1) return v;
    return make("expand_dims", {v}, {{"axis", 1}, {"num_newaxis", rank - 1 - axis}});
  }

  Copier& c_;
  std::vector<NodeId> operands_;
  const Type x_type_;
  const DType channel_dtype_;
  const ops::BatchNormAttrs attrs_;
};

// Both operators have tuple results and are used through their first field.
std::optional<NodeId> simplify(Copier& c, NodeId id) {
  const relay::Function& f = c.from();
  const auto* project = f.as<relay::Project>(id);
  if (project == nullptr || project->index != 0) return std::nullopt;
  const NodeId call = f.operands(id)[0];
  const relay::Operator* op = f.op(call);
  if (op == nullptr) return std::nullopt;
  if (op->name == "nn.dropout") return c.map(f.operands(call)[0]);
  if (op->name == "nn.batch_norm") return BatchNormExpansion(c, call).run();
  return std::nullopt;
}

Result<Module> run_simplify_inference(Module module, PassContext&) {
  return map_optimizable(std::move(module), [](const relay::Function& f, const ConstantPool&) {
    const std::vector<relay::RegionId> closed = closed_bodies(f);
    return relay::rewrite(f, [&](Copier& c, NodeId id) {
      return closed[f[id].region.index()] ? std::nullopt : simplify(c, id);
    });
  });
}

}  // namespace

extern const Pass simplify_inference;
const Pass simplify_inference{
    .name = "simplify-inference",
    .summary = "replaces dropout by its input and batch normalisation by a scale and a shift",
    .run = run_simplify_inference,
};

}  // namespace tessera::passes
