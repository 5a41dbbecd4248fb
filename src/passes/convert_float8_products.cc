// SPDX-License-Identifier: Apache-2.0
// Products of floats of eight bits as such, with their scales after the sums:
//   dense(dequantize_float8(x, s), dequantize_float8(w, t))  =  dense_float8(x, w, s, t)
// s: one number, or one for each row; t: one number, or one for each column.
#include "ops/attrs/quantize.h"
#include "passes/float8_products.h"
#include "passes/pass.h"
#include "passes/row_product.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::is_call_of;
using relay::NodeId;
using Ints = std::vector<std::int64_t>;

bool is_one(const Shape& shape) { return num_elements(shape) == Dim(1); }

// Codes with their scale, and whether the last two dimensions are stored the other way round.
struct Codes {
  NodeId codes, scale;
  std::string format;
  bool is_transposed = false;
};

class Float8Converter {
 public:
  Float8Converter(const Function& f, const relay::OperatorTable& operators)
      : f_(f), operators_(operators) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return product(c, id); });
  }

 private:
  // A cast rounds what a model of 16 bits says of numbers that have fewer.
  std::optional<Codes> find(NodeId id) const {
    Codes found;
    if (is_call_of(f_, id, "cast")) id = f_.operands(id)[0];
    if (is_call_of(f_, id, "transpose") && f_.type(id).rank() == 2) {
      found.is_transposed = is_swap(id);
      if (!found.is_transposed) return std::nullopt;
      id = f_.operands(id)[0];
    }
    if (!is_call_of(f_, id, "qnn.dequantize_float8")) return std::nullopt;
    found.codes = f_.operands(id)[0];
    found.scale = f_.operands(id)[1];
    found.format = relay::read_attrs<ops::Float8Attrs>(f_.as<relay::OpCall>(id)->attrs).format;
    return found;
  }

  bool is_swap(NodeId transpose) const {
    const relay::AttrValue* axes = f_.as<relay::OpCall>(transpose)->attrs.find("axes");
    return axes == nullptr || *axes == relay::AttrCodec<Ints>::encode(Ints{1, 0}) ||
           *axes == relay::AttrValue();
  }

  // One for each row, as the operator takes it.
  bool scales_rows(const Codes& data) const {
    const Shape& scale = f_.type(data.scale).shape();
    return is_one(scale) || (!data.is_transposed && scale.back() == Dim(1));
  }

  // One for each column, [columns, 1] or [columns] by the way the matrix lies.
  bool scales_columns(const Codes& matrix, bool has_rows_of_terms) const {
    const Shape &scale = f_.type(matrix.scale).shape(), &shape = f_.type(matrix.codes).shape();
    if (is_one(scale)) return true;
    const std::size_t columns = has_rows_of_terms ? 0 : 1;
    const std::size_t place = shape.size() - columns;  // from the end
    return scale.size() >= place && num_elements(scale) == shape[columns] &&
           scale[scale.size() - place] == shape[columns];
  }

  std::optional<NodeId> product(Copier& c, NodeId id) const {
    const auto found = row_product(f_, id);
    if (!found || !f_.type(id).dtype().is_float()) return std::nullopt;
    const auto data = find(found->data), matrix = find(found->matrix);
    if (!data || !matrix || data->is_transposed || f_.type(matrix->codes).rank() != 2) {
      return std::nullopt;
    }
    const bool has_rows_of_terms = found->has_rows_of_terms != matrix->is_transposed;
    const Shape& shape = f_.type(matrix->codes).shape();
    const Dim &columns = shape[has_rows_of_terms ? 0 : 1],
              &terms = shape[has_rows_of_terms ? 1 : 0];
    if (!scales_rows(*data) || !scales_columns(*matrix, has_rows_of_terms) ||
        !why_no_float8_product(columns, terms).empty()) {
      return std::nullopt;
    }
    return converted(c, id, *data, *matrix, has_rows_of_terms);
  }

  NodeId call(Copier& c, std::string_view op, std::initializer_list<NodeId> operands,
              relay::Attrs attrs) const {
    return c.builder().call(*operators_.find(op), operands, std::move(attrs));
  }

  // A scale as a number, or, of a matrix, as a vector.
  NodeId flat(Copier& c, NodeId scale) const {
    const Shape& shape = f_.type(scale).shape();
    if (shape.empty()) return c.map(scale);
    return call(c, "reshape", {c.map(scale)}, {{"newshape", is_one(shape) ? Ints{} : Ints{-1}}});
  }

  NodeId converted(Copier& c, NodeId id, const Codes& data, const Codes& matrix,
                   bool has_rows_of_terms) const {
    NodeId weight = c.map(matrix.codes);
    if (!has_rows_of_terms) weight = call(c, "transpose", {weight}, {{"axes", Ints{1, 0}}});
    const bool is_number = is_one(f_.type(data.scale).shape());
    const NodeId rows = is_number ? flat(c, data.scale) : c.map(data.scale);
    const NodeId y =
        call(c, "qnn.dense_float8", {c.map(data.codes), weight, rows, flat(c, matrix.scale)},
             {{"data_format", data.format}, {"weight_format", matrix.format}});
    const DType type = f_.type(id).dtype();
    return type == kFloat32 ? y : call(c, "cast", {y}, {{"dtype", type}});
  }

  const Function& f_;
  const relay::OperatorTable& operators_;
};

Result<Module> run_convert_float8_products(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool&) {
    return Float8Converter(f, context.operators).run();
  });
}

}  // namespace

extern const Pass convert_float8_products;
const Pass convert_float8_products{
    .name = "convert-float8-products",
    .summary = "multiplies floats of eight bits as such, with their scales after the sums",
    .run = run_convert_float8_products,
};

}  // namespace tessera::passes
