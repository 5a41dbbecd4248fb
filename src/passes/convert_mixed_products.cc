// SPDX-License-Identifier: Apache-2.0
// Products of many rows of 16 bits with constant matrices of a few bits, for back ends that decode
// these in registers:
//   x dequantise(w)  =  dense_mixed(x, w')
// Those of few rows are convert-block-products' own.
#include "passes/mixed_weight.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

struct ConvertMixedProductsOptions {
  std::int64_t least_rows = 17;  // fewer are multiplied faster by kernels of their own
  std::int64_t most_rows = -1;   // more by what has the matrix unpacked; -1: none are
  static constexpr auto fields =
      std::tuple{relay::attr("least_rows", &ConvertMixedProductsOptions::least_rows),
                 relay::attr("most_rows", &ConvertMixedProductsOptions::most_rows)};
};

class MixedProductConverter {
 public:
  MixedProductConverter(const Function& f, const ConstantPool& pool, const SymbolTable& symbols,
                        const relay::OperatorTable& operators,
                        const ConvertMixedProductsOptions& options)
      : f_(f),
        pool_(pool),
        symbols_(symbols),
        operators_(operators),
        options_(options),
        closed_(closed_bodies(f)) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  bool has_kernels(NodeId product, NodeId data) const {
    const DType dtype = f_.type(product).dtype();
    return (dtype == kFloat16 || dtype == kBFloat16) && f_.type(data).dtype() == dtype;
  }

  bool has_many_rows(NodeId data) const {
    const std::int64_t known = std::max(options_.least_rows, options_.most_rows);
    const SizeRange rows = rows_of(f_.type(data), symbols_, known);
    const bool are_too_many =
        options_.most_rows >= 0 && (rows.max < 0 || rows.max > options_.most_rows);
    return rows.min >= options_.least_rows && !are_too_many;
  }

  std::optional<NodeId> visit(Copier& c, NodeId id) const {
    const auto p = block_product(f_, id);
    if (!p || closed_[f_[id].region.index()] || !has_kernels(id, p->data) ||
        !has_many_rows(p->data)) {
      return std::nullopt;
    }
    const auto weight = mixed_weight(block_constants(f_, pool_, p->matrix), p->has_rows_of_terms,
                                     f_.type(id).dtype());
    if (!weight) return std::nullopt;
    relay::FunctionBuilder& b = c.builder();
    return b.call(*operators_.find("qnn.dense_mixed"),
                  {c.map(p->data), b.constant(weight->weight), b.constant(weight->scale)},
                  relay::write_attrs(weight->attrs));
  }

  const Function& f_;
  const ConstantPool& pool_;
  const SymbolTable& symbols_;
  const relay::OperatorTable& operators_;
  const ConvertMixedProductsOptions& options_;
  const std::vector<relay::RegionId> closed_;  // by region
};

Result<Module> run_convert_mixed_products(Module module, PassContext& context) {
  const auto options = relay::read_attrs<ConvertMixedProductsOptions>(context.options);
  const auto symbols = module.symbols;
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return MixedProductConverter(f, pool, symbols, context.operators, options).run();
  });
}

}  // namespace

extern const Pass convert_mixed_products;
const Pass convert_mixed_products{
    .name = "convert-mixed-products",
    .summary = "lets products of many rows of 16 bits decode matrices of a few bits in registers",
    .options = relay::attr_schema<ConvertMixedProductsOptions>,
    .run = run_convert_mixed_products,
};

}  // namespace tessera::passes
