// SPDX-License-Identifier: Apache-2.0
// Norms of rows that exporters write as what they are made of become one call. A pattern finds the
// unit norm; the factor, the bias and the casts around it join the call one by one:
//   x / sqrt(mean(x * x) + epsilon) * gamma                    nn.rms_norm(x, gamma)
//   d / sqrt(mean(d * d) + epsilon) * gamma + beta             nn.layer_norm(x, gamma, beta)
//       where d = x - mean(x)
//   x * s + (beta - mean(x) * s)  where s = rsqrt(...) * gamma   the same
//   cast(norm(cast(x)))                                        norm(x), float32 inside anyway
#include <optional>

#include "ops/attrs/norm.h"
#include "ops/attrs/reduce.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "passes/row_norms.h"
#include "relay/patterns/matcher.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::is_constant;
using relay::is_op;
using relay::is_scalar;
using relay::NodeId;
using relay::Pattern;
using relay::wildcard;
using Found = std::optional<NodeId>;

// Wider rows leave a device idle with a team of threads for each.
constexpr std::int64_t kWidestRow = 1 << 14;

// ---- Patterns

struct Size {  // of a row
  Pattern deviation, inverse;
};

Size size_of(const Pattern& x) {
  const Pattern squares = is_op("power", {x, is_scalar(2)}) | is_op("multiply", {x, x});
  const Pattern variance = is_op("add", {is_op("mean", {squares}, "mean"), is_constant("epsilon")});
  const Pattern deviation = is_op("sqrt", {variance}) | is_op("power", {variance, is_scalar(0.5)});
  const Pattern inverse = is_op("rsqrt", {variance}) | is_op("power", {variance, is_scalar(-0.5)}) |
                          is_op("divide", {is_scalar(1), deviation});
  return {deviation, inverse};
}

Pattern unit_norm(const Pattern& x) {
  const Size size = size_of(x);
  return is_op("divide", {x, size.deviation}) | is_op("multiply", {x, size.inverse});
}

Pattern rms_unit() { return unit_norm(wildcard("x")); }

Pattern layer_unit() {
  const Pattern x = wildcard("x");
  return unit_norm(is_op("subtract", {x, is_op("mean", {x}, "center")}));
}

Pattern layer_as_scale_and_shift() {
  const Pattern x = wildcard("x"), mean = is_op("mean", {x}, "center");
  const Pattern scale =
      is_op("multiply", {size_of(is_op("subtract", {x, mean})).inverse, wildcard("gamma")});
  const Pattern shift = is_op("subtract", {wildcard("beta"), is_op("multiply", {mean, scale})});
  return is_op("add", {is_op("multiply", {x, scale}), shift});
}

// ---- Rewriting

// What a norm over the last dimension is made of; nodes of the new function.
struct Norm {
  bool subtracts_mean = false;
  NodeId data, gamma, beta;  // a parameter that is not used is not valid
  double epsilon = 0;
};

class Recognizer {
 public:
  Recognizer(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f),
        pool_(pool),
        operators_(operators),
        uses_(f),
        closed_(closed_bodies(f)),
        graph_(f),
        rms_(graph_, rms_unit(), &pool),
        layer_(graph_, layer_unit(), &pool),
        scale_and_shift_(graph_, layer_as_scale_and_shift(), &pool) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  Found visit(Copier& c, NodeId id) {
    const relay::Operator* op = f_.op(id);
    if (op == nullptr || closed_[f_[id].region.index()] || !f_.type(id)) return std::nullopt;
    if (op->name == "cast") return between_casts(c, id);
    if (op->name == "divide" || op->name == "multiply") {
      if (const Found unit = unit_at(c, id)) return unit;
    }
    if (op->name == "multiply") return with_gamma(c, id);
    if (op->name != "add") return std::nullopt;
    const Found whole = scale_and_shift_at(c, id);
    return whole ? whole : with_beta(c, id);
  }

  // ---- What is there

  Found unit_at(Copier& c, NodeId id) {
    const std::uint32_t root = graph_.index_of(id);
    if (layer_.match(root) && is_norm_of_rows(layer_, id)) return make(c, id, norm(c, layer_));
    if (rms_.match(root) && is_norm_of_rows(rms_, id)) return make(c, id, norm(c, rms_));
    return std::nullopt;
  }

  Found scale_and_shift_at(Copier& c, NodeId id) {
    if (!scale_and_shift_.match(graph_.index_of(id))) return std::nullopt;
    if (!is_norm_of_rows(scale_and_shift_, id)) return std::nullopt;
    Norm n = norm(c, scale_and_shift_);
    n.gamma = vector(c, scale_and_shift_.captured("gamma"), f_.type(id));
    n.beta = vector(c, scale_and_shift_.captured("beta"), f_.type(id));
    return n.gamma && n.beta ? Found(make(c, id, n)) : std::nullopt;
  }

  // Are the means those of rows, of a width that is known, and is epsilon a number?
  bool is_norm_of_rows(const relay::Matcher& m, NodeId id) const {
    const Type& type = f_.type(m.captured("x"));
    if (!type || type != f_.type(id) || !type.dtype().is_float() || type.rank() == 0) return false;
    const auto width = type.shape().back().as_constant();
    if (!width || *width < 1 || *width > kWidestRow) return false;
    for (const char* mean : {"mean", "center"}) {
      const NodeId at = m.captured(mean);
      if (at && !is_of_rows(at, static_cast<std::int64_t>(type.rank()))) return false;
    }
    const Tensor& epsilon = constant(m.captured("epsilon"));
    return epsilon.num_elements() == 1 && element_as_double(epsilon, 0) >= 0;
  }

  bool is_of_rows(NodeId mean, std::int64_t rank) const {
    const auto attrs = relay::read_attrs<ops::ReduceAttrs>(f_.as<relay::OpCall>(mean)->attrs);
    if (!attrs.keepdims || attrs.exclude || !attrs.axis || attrs.axis->size() != 1) return false;
    return attrs.axis->front() == -1 || attrs.axis->front() == rank - 1;
  }

  const Tensor& constant(NodeId id) const {
    return pool_.resolve(f_.as<relay::Constant>(id)->value);
  }

  // A value for each element of a row of this type, as a vector of the new function.
  NodeId vector(Copier& c, NodeId id, const Type& rows) const {
    const Type& type = f_.type(id);
    if (!type || !type.is_tensor() || type.dtype() != rows.dtype()) return {};
    const Dim& width = rows.shape().back();
    if (type.rank() == 0 || type.rank() > rows.rank() || type.shape().back() != width ||
        num_elements(type.shape()) != width) {
      return {};
    }
    if (type.rank() == 1) return c.map(id);
    const Type flat = tensor_type({width}, type.dtype());
    if (f_.as<relay::Constant>(id) != nullptr) {
      Tensor values = constant(id);
      values.shape = {*width.as_constant()};
      return typed(c, c.builder().constant(std::move(values)), flat);
    }
    const relay::Attrs attrs = {{"newshape", std::vector<std::int64_t>{-1}}};
    return typed(c, c.builder().call(*operators_.find("reshape"), {c.map(id)}, attrs), flat);
  }

  // ---- What joins a norm that nothing else reads

  // The norm that stands for an old node.
  std::optional<Norm> norm_at(Copier& c, NodeId old) const {
    if (uses_.is_result(old) || uses_.of(old).size() != 1) return std::nullopt;
    const NodeId id = c.map(old);
    const Function& made = c.builder().peek();
    const auto* call = made.as<relay::OpCall>(id);
    if (call == nullptr || !made.type(id) || !is_row_norm(*call->op)) return std::nullopt;
    if (!made.type(id).shape().back().as_constant()) return std::nullopt;
    const auto described = [&](const auto& attrs, bool subtracts_mean, bool center) {
      const auto args = made.operands(id);
      Norm n{subtracts_mean, args[0], {}, {}, attrs.epsilon};
      if (attrs.scale) n.gamma = args[1];
      if (center) n.beta = args[2];
      const auto last = static_cast<std::int64_t>(made.type(id).rank()) - 1;
      const bool is_last = attrs.axis == -1 || attrs.axis == last;
      return is_last ? std::optional(n) : std::nullopt;
    };
    if (call->op->name == "nn.rms_norm") {
      return described(relay::read_attrs<ops::RmsNormAttrs>(call->attrs), false, false);
    }
    const auto attrs = relay::read_attrs<ops::LayerNormAttrs>(call->attrs);
    return described(attrs, true, attrs.center);
  }

  Found with_gamma(Copier& c, NodeId id) const {
    return joined(
        c, id, [](const Norm& n) { return !n.gamma && !n.beta; }, &Norm::gamma);
  }
  Found with_beta(Copier& c, NodeId id) const {
    return joined(
        c, id, [](const Norm& n) { return n.subtracts_mean && !n.beta; }, &Norm::beta);
  }

  Found joined(Copier& c, NodeId id, bool (*takes)(const Norm&), NodeId Norm::*parameter) const {
    for (const std::size_t side : {0, 1}) {
      const NodeId at = f_.operands(id)[side];
      std::optional<Norm> n = norm_at(c, at);
      if (!n || !takes(*n) || f_.type(at) != f_.type(id)) continue;
      (*n).*parameter = vector(c, f_.operands(id)[1 - side], f_.type(id));
      if ((*n).*parameter) return make(c, id, *n);
    }
    return std::nullopt;
  }

  Found between_casts(Copier& c, NodeId id) const {
    const NodeId at = f_.operands(id)[0];
    const DType narrow = f_.type(id).dtype();
    std::optional<Norm> n = norm_at(c, at);
    const bool is_wide = n && f_.type(at).dtype() == kFloat32;
    if (!is_wide || !narrow.is_float() || narrow.bits != 16) return std::nullopt;
    for (NodeId Norm::*part : {&Norm::data, &Norm::gamma, &Norm::beta}) {
      NodeId& value = (*n).*part;
      if (!value) continue;
      value = uncast(c, value, narrow);
      if (!value) return std::nullopt;
    }
    return make(c, id, *n);
  }

  // The same values in the narrow type, if they all are of it.
  NodeId uncast(Copier& c, NodeId id, DType narrow) const {
    const Function& made = c.builder().peek();
    if (const auto* call = made.as<relay::OpCall>(id)) {
      if (call->op->name != "cast") return {};
      const NodeId from = made.operands(id)[0];
      return made.type(from) && made.type(from).dtype() == narrow ? from : NodeId();
    }
    const auto* known = made.as<relay::Constant>(id);
    if (known == nullptr) return {};
    const Tensor& wide = pool_.resolve(known->value);
    std::vector<double> values;
    for (std::int64_t i = 0; i < wide.num_elements(); ++i) {
      values.push_back(element_as_double(wide, i));
    }
    const Tensor out = tensor_from_doubles(wide.shape, narrow, values);
    for (std::int64_t i = 0; i < out.num_elements(); ++i) {
      if (element_as_double(out, i) != values[static_cast<std::size_t>(i)]) return {};
    }
    return typed(c, c.builder().constant(out), out.type());
  }

  // ---- What is made

  static NodeId typed(Copier& c, NodeId id, const Type& type) {
    c.builder().set_type(id, type);
    return id;
  }

  Norm norm(Copier& c, const relay::Matcher& m) const {
    return {.subtracts_mean = static_cast<bool>(m.captured("center")),
            .data = c.map(m.captured("x")),
            .gamma = {},
            .beta = {},
            .epsilon = element_as_double(constant(m.captured("epsilon")), 0)};
  }

  NodeId make(Copier& c, NodeId old, const Norm& n) const {
    const Type& type = f_.type(old);
    const NodeId gamma = n.gamma ? n.gamma : unused(c, type);
    if (!n.subtracts_mean) {
      const NodeId call = c.builder().call(
          *operators_.find("nn.rms_norm"), {n.data, gamma},
          {{"axis", -1}, {"epsilon", n.epsilon}, {"scale", static_cast<bool>(n.gamma)}});
      return typed(c, call, type);
    }
    const NodeId beta = n.beta ? n.beta : unused(c, type);
    const NodeId call = c.builder().call(*operators_.find("nn.layer_norm"), {n.data, gamma, beta},
                                         {{"axis", -1},
                                          {"epsilon", n.epsilon},
                                          {"center", static_cast<bool>(n.beta)},
                                          {"scale", static_cast<bool>(n.gamma)}});
    return typed(c, call, type);
  }

  // The operator wants a parameter that it will not read.
  static NodeId unused(Copier& c, const Type& rows) {
    const std::int64_t width = *rows.shape().back().as_constant();
    const std::vector<double> ones(static_cast<std::size_t>(width), 1);
    const Tensor values = tensor_from_doubles({width}, rows.dtype(), ones);
    return typed(c, c.builder().constant(values), values.type());
  }

  const Function& f_;
  const ConstantPool& pool_;
  const relay::OperatorTable& operators_;
  const relay::Uses uses_;
  const std::vector<relay::RegionId> closed_;  // by region
  const relay::IndexedGraph graph_;
  relay::Matcher rms_, layer_, scale_and_shift_;
};

Result<Module> run_recognize_norms(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Recognizer(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass recognize_norms;
const Pass recognize_norms{
    .name = "recognize-norms",
    .summary = "makes nn.layer_norm and nn.rms_norm of what they are made of, bias and casts too",
    .run = run_recognize_norms,
};

}  // namespace tessera::passes
