// SPDX-License-Identifier: Apache-2.0
// Products with constant matrices of a few bits read these as they are stored, where the other
// operand has few rows: time goes by the bytes of the matrix then. With many rows the matrix is
// unpacked once for all of them. Where the model leaves the number open, the run decides.
//   x dequantise(w)  =  dense_blocks(x, w)
//                    =  if (elements of x <= few rows) { dense_blocks(x, w) } else { x
//                    dequantise(w) }
// With `fragments` the words are in the order of a GPU's threads: dense_fragments(x, w).
#include "passes/packed_weight.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::FunctionBuilder;
using relay::is_call_of;
using relay::NodeId;

struct ConvertBlockProductsOptions {
  // More are multiplied faster by what has them all unpacked.
  std::int64_t most_rows = 128;
  bool fragments = false;
  static constexpr auto fields =
      std::tuple{relay::attr("most_rows", &ConvertBlockProductsOptions::most_rows),
                 relay::attr("fragments", &ConvertBlockProductsOptions::fragments)};
};

class BlockProductConverter {
 public:
  BlockProductConverter(const Function& f, const ConstantPool& pool, const SymbolTable& symbols,
                        const relay::OperatorTable& operators,
                        const ConvertBlockProductsOptions& options)
      : f_(f),
        pool_(pool),
        symbols_(symbols),
        operators_(operators),
        most_rows_(options.most_rows),
        order_(options.fragments ? ops::WordOrder::kFragments : ops::WordOrder::kColumns),
        closed_(closed_bodies(f)) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  // ---- What is there

  // Its matrix is the call that dequantises.
  std::optional<RowProduct> described(NodeId id) const {
    std::optional<RowProduct> p = block_product(f_, id);
    if (!p || closed_[f_[id].region.index()] || is_of_many_rows(id)) return std::nullopt;
    const DType x = f_.type(p->data).dtype();
    return x == f_.type(id).dtype() && has_kernels(x) ? p : std::nullopt;
  }

  bool is_for_gpu() const { return order_ == ops::WordOrder::kFragments; }
  bool has_kernels(DType dtype) const {
    return dtype == kFloat32 || (is_for_gpu() && (dtype == kFloat16 || dtype == kBFloat16));
  }
  const char* product_name() const {
    return is_for_gpu() ? "qnn.dense_fragments" : "qnn.dense_blocks";
  }

  // In the branch that the pass has made for them.
  bool is_of_many_rows(NodeId id) const {
    const relay::RegionId region = f_[id].region;
    const NodeId owner = f_.region(region).owner;
    const auto* choice = owner ? f_.as<relay::If>(owner) : nullptr;
    return choice != nullptr && choice->else_region == region &&
           is_call_of(f_, f_.region(choice->then_region).result, product_name());
  }

  std::optional<PackedWeight> packed(const RowProduct& p) const {
    return packed_weight(block_constants(f_, pool_, p.matrix), p.has_rows_of_terms, order_);
  }

  // ---- What is made

  std::optional<NodeId> visit(Copier& c, NodeId id) const {
    const auto p = described(id);
    if (!p) return std::nullopt;
    const SizeRange rows = rows_of(f_.type(p->data), symbols_, most_rows_);
    if (rows.min > most_rows_) return std::nullopt;
    const auto weight = packed(*p);
    if (!weight) return std::nullopt;
    FunctionBuilder& b = c.builder();
    const Operands o = {c.map(p->data), b.constant(weight->weight), b.constant(weight->scale),
                        b.constant(weight->zero_point)};
    const DType dtype = f_.type(p->data).dtype();
    if (rows.max >= 0 && rows.max <= most_rows_) return of_few_rows(c, o, *weight);
    const NodeId elements = call(c, "ndarray_size", {o.data}, {{"dtype", kInt64}});
    const NodeId limit = b.constant(Tensor::scalar(most_rows_ * weight->attrs.terms, kInt64));
    const NodeId condition = call(c, "less_equal", {elements, limit});
    const relay::RegionId few = b.begin_region();
    b.end_region(of_few_rows(c, o, *weight));
    const relay::RegionId many = b.begin_region();
    b.end_region(of_many_rows(c, o, *weight, dtype));
    return b.if_(condition, few, many);
  }

  NodeId call(Copier& c, const char* op, std::initializer_list<NodeId> args,
              relay::Attrs attrs = {}) const {
    return c.builder().call(*operators_.find(op), args, std::move(attrs));
  }

  struct Operands {
    NodeId data, weight, scale, zero_point;
  };

  NodeId of_few_rows(Copier& c, const Operands& o, const PackedWeight& w) const {
    return call(c, product_name(), {o.data, o.weight, o.scale, o.zero_point},
                relay::write_attrs(w.attrs));
  }

  // A product of the same words, so that these are stored once.
  NodeId of_many_rows(Copier& c, const Operands& o, const PackedWeight& w, DType dtype) const {
    NodeId matrix = call(c, is_for_gpu() ? "qnn.unpack_fragments" : "qnn.unpack_blocks",
                         {o.weight, o.scale, o.zero_point}, relay::write_attrs(w.attrs));
    if (dtype != kFloat32) matrix = call(c, "cast", {matrix}, {{"dtype", dtype}});
    return call(c, "nn.matmul", {o.data, matrix}, {{"units", relay::AttrValue()}});
  }

  const Function& f_;
  const ConstantPool& pool_;
  const SymbolTable& symbols_;
  const relay::OperatorTable& operators_;
  const std::int64_t most_rows_;
  const ops::WordOrder order_;
  const std::vector<relay::RegionId> closed_;  // by region
};

Result<Module> run_convert_block_products(Module module, PassContext& context) {
  const auto options = relay::read_attrs<ConvertBlockProductsOptions>(context.options);
  const auto symbols = module.symbols;
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return BlockProductConverter(f, pool, symbols, context.operators, options).run();
  });
}

}  // namespace

extern const Pass convert_block_products;
const Pass convert_block_products{
    .name = "convert-block-products",
    .summary = "lets products of few rows decode matrices of a few bits while they multiply",
    .options = relay::attr_schema<ConvertBlockProductsOptions>,
    .run = run_convert_block_products,
};

}  // namespace tessera::passes
