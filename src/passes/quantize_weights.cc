// SPDX-License-Identifier: Apache-2.0
// Constant matrices of products become integers of a few bits, or floats of eight bits, by rules
// (passes/weight_rules.h):
//   dense(x, w)  =  dense(x, dequantize_blocks(q, scale, zero_point))
//   dense(x, w)  =  dense(dequantize_float8(quantize_float8(x, s), s), dequantize_float8(q, t))
// So do tables that rows are taken from, as embeddings are, which are decoded row by row:
//   take(w, i)   =  take(dequantize_blocks(q, scale, zero_point), i)
// What reads them as they are stored is made of that later (convert-block-products,
// convert-float8-products).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "diagnostics/places.h"
#include "ops/attrs/index.h"
#include "passes/float8_products.h"
#include "passes/narrow_constant.h"
#include "passes/pass.h"
#include "passes/quantize_blocks.h"
#include "passes/row_product.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::is_call_of;
using relay::NodeId;

struct QuantizeWeightsOptions {
  std::vector<std::string> rules;
  static constexpr auto fields =
      std::tuple{relay::required_attr("rules", &QuantizeWeightsOptions::rules)};
};

// Where products stand among each other.
class ProductOrder {
 public:
  explicit ProductOrder(const Function& f)
      : follows_(f.num_nodes()), precedes_(f.num_nodes()), of_floats_(f.num_nodes()) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      of_floats_[i] = f.as<relay::Param>(id) != nullptr && is_float(f, id);
      for (const NodeId operand : f.operands(id)) {
        follows_[i] = follows_[i] || follows_[operand.index()] || is_product(f, operand);
        of_floats_[i] = of_floats_[i] || of_floats_[operand.index()];
      }
    }
    for (std::size_t i = f.num_nodes(); i-- > 0;) {
      const bool is_before = precedes_[i] || is_product(f, NodeId(i));
      for (const NodeId operand : f.operands(NodeId(i))) {
        if (is_before) precedes_[operand.index()] = true;
      }
    }
  }

  bool is_first(NodeId id) const { return !follows_[id.index()] && of_floats_[id.index()]; }
  bool is_last(NodeId id) const { return !precedes_[id.index()]; }

 private:
  static bool is_float(const Function& f, NodeId id) {
    return f.type(id).is_tensor() && f.type(id).dtype().is_float();
  }
  static bool is_product(const Function& f, NodeId id) {
    const relay::Operator* op = f.op(id);
    return op != nullptr && op->pattern == relay::OpPattern::kOutFusable;
  }

  std::vector<bool> follows_, precedes_, of_floats_;  // by node
};

class WeightQuantizer {
 public:
  WeightQuantizer(const Function& f, const ConstantPool& pool,
                  const relay::OperatorTable& operators, std::span<const WeightRule> rules,
                  const LargestMagnitudes& largest, std::vector<WeightRow>& rows)
      : f_(f),
        pool_(pool),
        operators_(operators),
        rules_(rules),
        largest_(largest),
        rows_(rows),
        order_(f),
        uses_(f) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

  // The data of products whose scales a calibration has to find; those of `main`.
  std::vector<NodeId> data_to_calibrate(bool can_be) const {
    std::vector<NodeId> data;
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const auto p = described(NodeId(i));
      const WeightRule* rule =
          p ? rule_of(p->as_reader(), nodes_of_model(f_[p->id].location)) : nullptr;
      if (rule == nullptr || !rule->form.float8 || !is_calibrated(*rule->form.float8, can_be)) {
        continue;
      }
      const Tensor& matrix = pool_.resolve(f_.as<relay::Constant>(p->matrix)->value);
      if (obstacle(*p, matrix, rule->form).empty()) data.push_back(p->data);
    }
    return data;
  }

 private:
  // What reads a constant matrix, which has groups along its terms.
  struct Reader {
    NodeId id, matrix, data;
    std::int64_t columns = 0, terms = 0;
    bool is_lookup = false;  // rows are taken: each is a column here, and `data` the matrix
  };
  struct Product : RowProduct {
    NodeId id;
    std::int64_t columns = 0, terms = 0;

    Reader as_reader() const { return {id, matrix, data, columns, terms}; }
  };

  std::optional<Product> described(NodeId id) const {
    const auto found = row_product(f_, id);
    if (!found) return std::nullopt;
    const auto* constant = f_.as<relay::Constant>(found->matrix);
    if (constant == nullptr || f_.type(found->matrix).rank() != 2) return std::nullopt;
    const Tensor& matrix = pool_.resolve(constant->value);
    const std::int64_t columns = matrix.shape[found->has_rows_of_terms ? 0 : 1];
    const std::int64_t terms = matrix.shape[found->has_rows_of_terms ? 1 : 0];
    if (columns < 1 || terms < 1) return std::nullopt;
    return Product{*found, id, columns, terms};
  }

  // Rows that are taken from a constant table of floats.
  std::optional<Reader> lookup(NodeId id) const {
    if (!is_call_of(f_, id, "take")) return std::nullopt;
    const NodeId table = f_.operands(id)[0];
    const auto* constant = f_.as<relay::Constant>(table);
    if (constant == nullptr || f_.type(table).rank() != 2) return std::nullopt;
    const auto attrs = relay::read_attrs<ops::TakeAttrs>(f_.as<relay::OpCall>(id)->attrs);
    if (attrs.batch_dims != 0 || (attrs.axis != 0 && attrs.axis != -2)) return std::nullopt;
    const Tensor& rows = pool_.resolve(constant->value);
    if (!rows.dtype.is_float() || rows.num_elements() == 0) return std::nullopt;
    return Reader{id, table, table, rows.shape[0], rows.shape[1], true};
  }

  bool fits(const WeightRule& rule, const Reader& r, std::span<const std::string> names) const {
    if (rule.pattern == "@embedding") return r.is_lookup;
    if (rule.pattern == "@first") return !r.is_lookup && order_.is_first(r.id);
    if (rule.pattern == "@last") return !r.is_lookup && order_.is_last(r.id);
    if (rule.pattern == "@small") return r.columns * r.terms < kSmallWeight;
    return fits_a_name(rule, names);
  }

  const WeightRule* rule_of(const Reader& reader, std::span<const std::string> names) const {
    const auto rule =
        std::ranges::find_if(rules_, [&](const WeightRule& r) { return fits(r, reader, names); });
    return rule == rules_.end() ? nullptr : &*rule;
  }
  bool becomes_integers(const Reader& reader) const {
    const WeightRule* rule = rule_of(reader, nodes_of_model(f_[reader.id].location));
    return rule != nullptr && rule->form.is_integer() &&
           why_not_of_type(reader, rule->form).empty();
  }

  // Of a matrix of its type; "": it can be.
  std::string why_not_of_type(const Reader& reader, const WeightForm& form) const {
    const DType dtype = f_.type(reader.matrix).dtype(), of_data = f_.type(reader.data).dtype();
    const bool is_of_16_bits = dtype == kFloat16 || dtype == kBFloat16;
    const bool is_float = dtype == kFloat32 || (is_of_16_bits && !form.float8);
    if (is_float && of_data == dtype && f_.type(reader.id).dtype() == dtype) return "";
    return reader.is_lookup ? fmt::format("rows of {} are taken", to_string(dtype))
                            : fmt::format("it is a product of {}", to_string(of_data));
  }

  // Why the product cannot have it otherwise, whatever the rules say; "": it can.
  std::string obstacle(const Product& p, const Tensor& matrix, const WeightForm& form) const {
    if (form.float8) {
      if (f_.type(p.data).rank() < 2) return "its data are a vector";
      if (f_[p.id].region != Function::kBody) return "it is in a branch or a function";
      if (auto why = why_no_float8_product(p.columns, p.terms); !why.empty()) return why;
    }
    return obstacle(p.as_reader(), matrix, form);
  }

  // The same of whatever reads it.
  std::string obstacle(const Reader& reader, const Tensor& matrix, const WeightForm& form) const {
    if (auto why = why_not_of_type(reader, form); !why.empty()) return why;
    for (const NodeId user : uses_.of(reader.matrix)) {
      const auto product = described(user);
      const auto table = lookup(user);
      const bool can_be = product ? !reader.is_lookup || becomes_integers(product->as_reader())
                                  : table && !form.float8 && becomes_integers(*table);
      if (can_be) continue;
      const relay::Operator* op = f_.op(user);
      return fmt::format("{} reads it, too", op != nullptr ? op->name : "something else");
    }
    const Tensor wide = in_float32(matrix);
    const bool is_finite =
        std::ranges::all_of(wide.as<float>(), [](float v) { return std::isfinite(v); });
    return is_finite ? "" : "some of its elements are no numbers";
  }

  static Tensor in_float32(const Tensor& t) { return t.dtype == kFloat32 ? t : widened(t); }

  // The rule for a matrix, and its row as long as it stays.
  struct Ruled {
    const WeightRule* rule;
    const Tensor& matrix;
    WeightRow row;
  };
  std::optional<Ruled> ruled(const Reader& reader) const {
    const std::vector<std::string> names = nodes_of_model(f_[reader.id].location);
    const WeightRule* rule = rule_of(reader, names);
    if (rule == nullptr) return std::nullopt;
    if (rule->form.bits == 0) {
      // What is packed is packed, and told, when the library is written.
      const WeightRule* stored = rule_of_constant(rules_, names);
      if (stored != nullptr && stored->form.is_lossless) return std::nullopt;
    }
    const Tensor& matrix = pool_.resolve(f_.as<relay::Constant>(reader.matrix)->value);
    const auto bytes = static_cast<std::uint64_t>(matrix.size_bytes());
    return Ruled{rule, matrix,
                 WeightRow{names.empty() ? std::string(f_.op(reader.id)->name) : names.front(),
                           fmt::format("[{}, {}]", reader.columns, reader.terms), "", rule->text,
                           bytes, bytes}};
  }

  std::optional<NodeId> visit(Copier& c, NodeId id) const {
    if (const auto table = lookup(id)) return visit_lookup(c, *table);
    const auto p = described(id);
    auto found = p ? ruled(p->as_reader()) : std::nullopt;
    if (!found) return std::nullopt;
    const auto& [rule, matrix, kept] = *found;
    if (rule->form.bits == 0) return stays(*found, "");
    if (auto why = obstacle(*p, matrix, rule->form); !why.empty()) return stays(*found, why);
    if (rule->form.float8) return float8_product(c, *p, matrix, rule->form, found->row);
    const QuantizedMatrix q = quantized(*found, p->has_rows_of_terms, kBFloat16);
    return product(c, *p, q);
  }

  // Does a rule say so, be it overruled by another?
  bool is_asked_for(const Reader& reader) const {
    const std::vector<std::string> names = nodes_of_model(f_[reader.id].location);
    return std::ranges::any_of(
        rules_, [&](const WeightRule& r) { return r.form.bits > 0 && fits(r, reader, names); });
  }

  // Of a table few rows are read at a time, so that its numbers stay as they are found.
  std::optional<NodeId> visit_lookup(Copier& c, const Reader& table) const {
    auto found = is_asked_for(table) ? ruled(table) : std::nullopt;
    if (!found) return std::nullopt;
    const WeightForm& form = found->rule->form;
    if (form.bits == 0) return stays(*found, "");
    if (form.float8) return stays(*found, "rows of it are taken, and fp8 is of products");
    if (auto why = obstacle(table, found->matrix, form); !why.empty()) return stays(*found, why);
    const QuantizedMatrix q = quantized(*found, true, kFloat32);
    const NodeId rows = dequantized(c, table, q, found->matrix.dtype);
    const NodeId y = c.builder().call(*f_.op(table.id), {rows, c.map(f_.operands(table.id)[1])},
                                      f_.as<relay::OpCall>(table.id)->attrs);
    c.builder().set_type(y, f_.type(table.id));
    return y;
  }

  std::optional<NodeId> stays(Ruled& found, std::string why) const {
    if (!why.empty()) found.row.reason = std::move(why);
    rows_.push_back(std::move(found.row));
    return std::nullopt;
  }

  // `stored`: the type of scales and of zero points as they are stored; bfloat16 holds both.
  QuantizedMatrix quantized(Ruled& found, bool has_rows_of_terms, DType stored) const {
    QuantizedMatrix q =
        quantize_blocks(in_float32(found.matrix), has_rows_of_terms, found.rule->form);
    found.row.form = to_string(found.rule->form);
    found.row.error = q.error;
    const std::int64_t points = stored == kBFloat16
                                    ? q.zero_point.num_elements() * stored.size_bytes()
                                    : static_cast<std::int64_t>(q.zero_point.size_bytes());
    found.row.bytes =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(q.data.size_bytes()) +
                                   q.scale.num_elements() * stored.size_bytes() + points);
    rows_.push_back(std::move(found.row));
    return q;
  }

  NodeId float8_product(Copier& c, const Product& p, const Tensor& matrix, const WeightForm& form,
                        WeightRow row) const {
    const Float8Matrix q =
        float8_matrix(matrix, p.has_rows_of_terms, kFloat8E4M3, form.float8->weights);
    const auto largest = largest_.find(p.data);
    const bool is_static = largest != largest_.end();
    WeightForm told = form;
    told.float8->data = is_static ? Float8Form::Data::kStatic : Float8Form::Data::kDynamic;
    row.form = to_string(told);
    row.error = q.error;
    row.bytes = static_cast<std::uint64_t>(q.codes.size_bytes() + q.scale.size_bytes());
    rows_.push_back(std::move(row));
    Float8Builder builder{c.builder(), operators_};
    const Type& type = f_.type(p.data);
    const NodeId data =
        is_static ? builder.rounded(c.map(p.data), type, builder.scale_for(largest->second))
                  : builder.rounded_by_rows(c.map(p.data), type);
    return builder.product(data, q, f_.type(p.id));
  }

  NodeId product(Copier& c, const Product& p, const QuantizedMatrix& q) const {
    const NodeId matrix = dequantized(c, p.as_reader(), q, f_.type(p.id).dtype());
    const NodeId y = c.builder().call(*operators_.find("nn.dense"), {c.map(p.data), matrix},
                                      {{"units", p.columns}});
    c.builder().set_type(y, f_.type(p.id));
    return y;
  }

  NodeId dequantized(Copier& c, const Reader& reader, const QuantizedMatrix& q, DType dtype) const {
    relay::FunctionBuilder& b = c.builder();
    NodeId matrix = b.call(*operators_.find("qnn.dequantize_blocks"),
                           {b.constant(q.data), b.constant(q.scale), b.constant(q.zero_point)},
                           relay::write_attrs(q.attrs));
    b.set_type(matrix, tensor_type({Dim(reader.columns), Dim(reader.terms)}, kFloat32));
    if (dtype == kFloat32) return matrix;
    matrix = b.call(*operators_.find("cast"), {matrix}, {{"dtype", dtype}});
    b.set_type(matrix, tensor_type({Dim(reader.columns), Dim(reader.terms)}, dtype));
    return matrix;
  }

  const Function& f_;
  const ConstantPool& pool_;
  const relay::OperatorTable& operators_;
  std::span<const WeightRule> rules_;
  const LargestMagnitudes& largest_;
  std::vector<WeightRow>& rows_;
  const ProductOrder order_;
  const relay::Uses uses_;
};

bool asks_for_calibration(std::span<const WeightRule> rules) {
  return std::ranges::any_of(rules, [](const WeightRule& rule) {
    return rule.form.float8 && rule.form.float8->data == Float8Form::Data::kStatic;
  });
}

// Of the data of products of `main`, where their scales are to be found before a run.
Result<LargestMagnitudes> calibrate(const Module& module, std::span<const WeightRule> rules,
                                    PassContext& context) {
  const auto main = module.functions.find("main");
  if (main == module.functions.end()) return LargestMagnitudes();
  if (!context.greatest_results && asks_for_calibration(rules)) {
    return fail(error(Code::kBadOption, {}, "fp8 with static scales needs inputs to find them with")
                    .with_remedy("give --calibrate FOLDER, or say `dynamic`"));
  }
  std::vector<WeightRow> unused;
  const std::vector<NodeId> data =
      WeightQuantizer(main->second, module.constants, context.operators, rules, {}, unused)
          .data_to_calibrate(static_cast<bool>(context.greatest_results));
  return largest_magnitudes(module, data, context);
}

Result<Module> run_quantize_weights(Module module, PassContext& context) {
  const auto options = relay::read_attrs<QuantizeWeightsOptions>(context.options);
  TESSERA_TRY(const std::vector<WeightRule> rules, parse_weight_rules(options.rules));
  TESSERA_TRY(const LargestMagnitudes of_main, calibrate(module, rules, context));
  const LargestMagnitudes none;
  for (auto& [name, f] : module.functions) {
    if (!relay::is_optimizable(f)) continue;
    CheckContext in_function("in @" + name);
    f = WeightQuantizer(f, module.constants, context.operators, rules,
                        name == "main" ? of_main : none, context.weights)
            .run();
  }
  return module;
}

}  // namespace

extern const Pass quantize_weights;
const Pass quantize_weights{
    .name = "quantize-weights",
    .summary =
        "stores constant matrices of products as integers of a few bits or floats of eight, by "
        "rules",
    .options = relay::attr_schema<QuantizeWeightsOptions>,
    .run = run_quantize_weights,
};

}  // namespace tessera::passes
