// SPDX-License-Identifier: Apache-2.0
// A layer norm that products with constant matrices read becomes two numbers a row, and what is
// left of it moves into the products: its rows are never written.
//   factor, shift = nn.layer_norm_factors(x)
//   norm(x) W + b  =  (x V) * factor + (b + beta W)
//       where V = gamma W less the mean of each column, so that x V = (x - mean(x)) gamma W;
//       V is rounded so that its columns sum up to zero still, whatever multiple of the mean that
//       is
//   product + norm(x)  =  product + ((x * factor + shift) * gamma + beta)
// This pays where something applies a factor for each row to what it has in registers.
#include <algorithm>
#include <map>
#include <thread>

#include "ops/attrs/matmul.h"
#include "ops/attrs/norm.h"
#include "ops/evaluation/evaluate.h"
#include "passes/balanced_rounding.h"
#include "passes/constant_product.h"
#include "passes/pass.h"
#include "support/f16.h"
#include "support/jobs.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::is_call_of;
using relay::NodeId;
using Found = std::optional<NodeId>;

struct FoldLayerNormOptions {
  // Smaller norms stay in a device's caches, and are as fast as finding their factors.
  std::int64_t least_bytes = 8 << 20;
  static constexpr auto fields =
      std::tuple{relay::attr("least_bytes", &FoldLayerNormOptions::least_bytes)};
};

struct Norm {
  NodeId data, gamma, beta;
  double epsilon = 0;
};

class Folder {
 public:
  Folder(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators,
         const FoldLayerNormOptions& options)
      : f_(f), pool_(pool), operators_(operators), options_(options), uses_(f) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) find_product(NodeId(i));
    for (std::size_t i = 0; i < f.num_nodes(); ++i) find_norm(NodeId(i));
    for (const auto& [root, p] : products_) {
      const auto norm = norms_.find(f.operands(p.product)[0]);
      if (norm != norms_.end()) folded_.push_back({&p, norm->first, &norm->second, {}, {}});
    }
    run_jobs(folded_.size(), std::thread::hardware_concurrency(),
             [this](std::size_t i) { fold_into(folded_[i]); });
  }

  Function run() {
    if (norms_.empty()) return f_;
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  // ---- What is folded

  void find_product(NodeId id) {
    if (f_[id].region != Function::kBody) return;
    if (const auto p = constant_product(f_, uses_, id)) products_.emplace(p->root, *p);
  }

  void find_norm(NodeId id) {
    if (!is_call_of(f_, id, "nn.layer_norm") || f_[id].region != Function::kBody) return;
    if (uses_.is_result(id) || !is_large(f_.type(id))) return;
    const auto attrs = relay::read_attrs<ops::LayerNormAttrs>(f_.as<relay::OpCall>(id)->attrs);
    const auto last = static_cast<std::int64_t>(f_.type(id).rank()) - 1;
    if (!attrs.center || !attrs.scale || (attrs.axis != -1 && attrs.axis != last)) return;
    const auto args = f_.operands(id);
    if (!is_constant(args[1]) || !is_constant(args[2])) return;
    const Norm norm{args[0], args[1], args[2], attrs.epsilon};
    const auto users = uses_.of(id);
    bool is_multiplied = false;
    for (const NodeId user : users) {
      const bool multiplied = multiplies(user, id, norm);
      if (!multiplied && !is_residual(user, id)) return;
      is_multiplied |= multiplied;
    }
    if (is_multiplied) norms_.emplace(id, norm);
  }

  bool is_constant(NodeId id) const { return f_.as<relay::Constant>(id) != nullptr; }

  bool is_large(const Type& type) const {
    const auto size = constant_shape(type.shape());
    if (!size || type.rank() < 2 || !type.dtype().is_float() || type.dtype().bits != 16) {
      return false;
    }
    std::int64_t bytes = type.dtype().size_bytes();
    for (const std::int64_t n : *size) bytes *= n;
    return bytes >= options_.least_bytes;
  }

  // Is it the product of the norm and a constant matrix, of which `folded_weight` can be made?
  bool multiplies(NodeId user, NodeId norm, const Norm& n) const {
    if (f_[user].region != Function::kBody) return false;
    const auto p = constant_product(f_, uses_, user);
    if (!p || f_.operands(user)[0] != norm || f_.operands(user)[1] == norm) return false;
    if (f_.type(user).dtype() != f_.type(norm).dtype()) return false;
    if (uses_.of(p->weight).size() != 1) return false;  // others need the old one beside the new
    const auto& attrs = f_.as<relay::OpCall>(user)->attrs;
    const bool is_dense = is_call_of(f_, user, "nn.dense");
    if (!is_dense && relay::read_attrs<ops::MatmulAttrs>(attrs).transpose_a) return false;
    return is_moderate(tensor(n.gamma), tensor(p->weight));
  }

  // Does the 16-bit type keep the weights times gamma as well as the weights alone?
  static bool is_moderate(const Tensor& gamma, const Tensor& weight) {
    constexpr double kMost = 64;
    const double scale = largest(gamma);
    return scale <= kMost && scale >= 1 / kMost && largest(weight) <= kMost;
  }

  // Magnitudes of 16-bit types are ordered as their bits are.
  static double largest(const Tensor& t) {
    std::uint16_t most = 0;
    for (const std::uint16_t bits : t.as<std::uint16_t>()) {
      most = std::max(most, static_cast<std::uint16_t>(bits & 0x7fff));
    }
    return t.dtype == kFloat16 ? float16_value(most) : bfloat16_value(most);
  }

  // Is the norm added to another product?
  bool is_residual(NodeId user, NodeId norm) const {
    if (!is_call_of(f_, user, "add") || f_[user].region != Function::kBody) return false;
    const auto args = f_.operands(user);
    const NodeId other = args[args[0] == norm ? 1 : 0];
    return other != norm && f_.type(user) == f_.type(norm) && f_.type(other) == f_.type(norm) &&
           products_.contains(other) && uses_.of(other).size() == 1;
  }

  // ---- What is made

  // A product with the norm before it in its weight and bias.
  struct Folded {
    const ConstantProduct* old;
    NodeId norm;
    const Norm* parameters;
    std::optional<Tensor> weight;
    std::vector<double> bias;
  };

  void fold_into(Folded& out) const {
    const Tensor& old = tensor(out.old->weight);
    std::vector<double> weight = doubles(old);
    out.bias =
        out.old->bias ? doubles(tensor(out.old->bias)) : std::vector<double>(out.old->width, 0);
    move_into(*out.parameters, *out.old, weight, out.bias);
    out.weight = tensor_from_doubles(old.shape, old.dtype, weight);
  }

  Found visit(Copier& c, NodeId id) {
    // Ascending, as roots are.
    const auto folded = std::lower_bound(folded_.begin(), folded_.end(), id,
                                         [](const Folded& p, NodeId i) { return p.old->root < i; });
    if (folded != folded_.end() && folded->old->root == id) return product(c, *folded);
    if (!is_call_of(f_, id, "add")) return std::nullopt;
    for (const std::size_t side : {0, 1}) {
      const NodeId operand = f_.operands(id)[side];
      const auto norm = norms_.find(operand);
      if (norm == norms_.end()) continue;
      std::vector<NodeId> operands = c.operands(id);
      operands[side] = rows(c, operand, norm->second);
      return c.copy(id, operands);
    }
    return std::nullopt;
  }

  NodeId call(Copier& c, const char* op, std::initializer_list<NodeId> args,
              relay::Attrs attrs = {}) const {
    return c.builder().call(*operators_.find(op), args, std::move(attrs));
  }
  NodeId cast(Copier& c, NodeId value, DType dtype) const {
    return call(c, "cast", {value}, {{"dtype", dtype}});
  }
  static std::vector<double> doubles(const Tensor& t) {
    const ops::Elements<double> all = ops::values_of<double>(t);
    return {all.begin(), all.end()};
  }
  static NodeId vector(Copier& c, const std::vector<double>& values) {
    return c.builder().constant(
        tensor_from_doubles({static_cast<std::int64_t>(values.size())}, kFloat32, values));
  }

  // One of the norm's two numbers a row.
  NodeId factor(Copier& c, NodeId norm, int which) {
    NodeId& factors = factors_[norm];
    const Norm& n = norms_.at(norm);
    if (!factors) {
      factors = call(c, "nn.layer_norm_factors", {c.map(n.data)}, {{"epsilon", n.epsilon}});
    }
    return c.builder().project(factors, which);
  }

  NodeId product(Copier& c, Folded& p) {
    const NodeId matrix = c.builder().constant(*std::move(p.weight));
    const NodeId old = p.old->product;
    relay::Attrs attrs = f_.as<relay::OpCall>(old)->attrs;
    attrs.set("out_dtype", kFloat32);
    const NodeId sums = c.builder().call(*f_.op(old), {c.map(p.parameters->data), matrix}, attrs);
    const NodeId scaled = call(c, "multiply", {sums, factor(c, p.norm, 0)});
    return cast(c, call(c, "add", {scaled, vector(c, p.bias)}), f_.type(old).dtype());
  }

  void move_into(const Norm& n, const ConstantProduct& p, std::vector<double>& weight,
                 std::vector<double>& bias) const {
    const std::vector<double> gamma = doubles(tensor(n.gamma)), beta = doubles(tensor(n.beta));
    const MatrixLayout layout{gamma.size(), bias.size(), p.has_rows_of_terms};
    layout.for_each([&](std::size_t term, std::size_t column, std::size_t place) {
      bias[column] += beta[term] * weight[place];
      weight[place] *= gamma[term];
    });
    center_columns(weight, layout, f_.type(p.weight).dtype());
  }

  // The norm itself, of its two numbers a row.
  NodeId rows(Copier& c, NodeId norm, const Norm& n) {
    const NodeId x = cast(c, c.map(n.data), kFloat32);
    const NodeId scaled = call(c, "multiply", {x, factor(c, norm, 0)});
    const NodeId unit = call(c, "add", {scaled, factor(c, norm, 1)});
    const auto widened = [&](NodeId id) { return vector(c, doubles(tensor(id))); };
    const NodeId scaled_unit = call(c, "multiply", {unit, widened(n.gamma)});
    return cast(c, call(c, "add", {scaled_unit, widened(n.beta)}), f_.type(norm).dtype());
  }

  const Tensor& tensor(NodeId constant) const {
    return pool_.resolve(f_.as<relay::Constant>(constant)->value);
  }

  const Function& f_;
  const ConstantPool& pool_;
  const relay::OperatorTable& operators_;
  const FoldLayerNormOptions& options_;
  const relay::Uses uses_;
  std::map<NodeId, ConstantProduct> products_;  // by root
  std::map<NodeId, Norm> norms_;
  std::vector<Folded> folded_;        // ascending roots
  std::map<NodeId, NodeId> factors_;  // by norm; of the new function
};

Result<Module> run_fold_layer_norm(Module module, PassContext& context) {
  const auto options = relay::read_attrs<FoldLayerNormOptions>(context.options);
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Folder(f, pool, context.operators, options).run();
  });
}

}  // namespace

extern const Pass fold_layer_norm;
const Pass fold_layer_norm{
    .name = "fold-layer-norm",
    .summary = "moves large nn.layer_norm into the products that read them, as factors of rows",
    .options = relay::attr_schema<FoldLayerNormOptions>,
    .run = run_fold_layer_norm,
};

}  // namespace tessera::passes
