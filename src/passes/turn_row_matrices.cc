// SPDX-License-Identifier: Apache-2.0
// Products of few rows in 16 bits take as long as reading the matrix, and generated code for a GPU
// reads it fastest where it lies along the sum:
//   matmul(x, w)  =  dense(x, transpose(w))
// The constant is transposed here, where nothing but such products reads it.
#include <cstring>
#include <thread>

#include "passes/pass.h"
#include "passes/regions.h"
#include "passes/row_product.h"
#include "relay/rewrite.h"
#include "support/jobs.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

struct TurnRowMatricesOptions {
  std::int64_t most_rows = 16;  // more are multiplied in tiles, whichever way the matrix lies
  static constexpr auto fields =
      std::tuple{relay::attr("most_rows", &TurnRowMatricesOptions::most_rows)};
};

// Of elements of two bytes, in squares that a cache holds.
Tensor transposed(const Tensor& t) {
  constexpr std::int64_t kSide = 64;
  const std::int64_t rows = t.shape[0], columns = t.shape[1];
  const auto from = t.blob->bytes();
  std::vector<std::byte> bytes(from.size());
  const auto turn = [&](std::size_t square) {
    const std::int64_t first = static_cast<std::int64_t>(square) * kSide;
    for (std::int64_t r0 = 0; r0 < rows; r0 += kSide) {
      for (std::int64_t c = first; c < std::min(first + kSide, columns); ++c) {
        for (std::int64_t r = r0; r < std::min(r0 + kSide, rows); ++r) {
          std::memcpy(bytes.data() + (c * rows + r) * 2, from.data() + (r * columns + c) * 2, 2);
        }
      }
    }
  };
  run_jobs(static_cast<std::size_t>((columns + kSide - 1) / kSide),
           std::thread::hardware_concurrency(), turn);
  return Tensor({columns, rows}, t.dtype, Blob::adopt(std::move(bytes)));
}

class MatrixTurner {
 public:
  MatrixTurner(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators,
               std::int64_t most_rows)
      : f_(f),
        pool_(pool),
        operators_(operators),
        most_rows_(most_rows),
        closed_(closed_bodies(f)),
        uses_(f) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  std::optional<RowProduct> described(NodeId id) const {
    const auto p = row_product(f_, id);
    if (!p || p->has_rows_of_terms || closed_[f_[id].region.index()]) return std::nullopt;
    const Type &x = f_.type(p->data), &w = f_.type(p->matrix);
    const bool is_half = x.dtype() == kFloat16 || x.dtype() == kBFloat16;
    if (!is_half || w.dtype() != x.dtype() || f_.type(id).dtype() != x.dtype() || w.rank() != 2 ||
        f_.as<relay::Constant>(p->matrix) == nullptr) {
      return std::nullopt;
    }
    std::int64_t rows = 1;
    for (std::size_t d = 0; d + 1 < x.rank(); ++d) {
      const auto size = x.shape()[d].as_constant();
      if (!size || *size < 1 || *size > most_rows_) return std::nullopt;
      rows *= *size;
    }
    return rows <= most_rows_ ? p : std::nullopt;
  }

  std::optional<NodeId> visit(Copier& c, NodeId id) const {
    const auto p = described(id);
    if (!p) return std::nullopt;
    for (const NodeId user : uses_.of(p->matrix)) {
      const auto other = described(user);
      if (!other || other->data == p->matrix) return std::nullopt;
    }
    const Tensor w = transposed(pool_.resolve(f_.as<relay::Constant>(p->matrix)->value));
    relay::FunctionBuilder& b = c.builder();
    const NodeId y = b.call(*operators_.find("nn.dense"), {c.map(p->data), b.constant(w)},
                            {{"units", w.shape[0]}});
    b.set_type(y, f_.type(id));
    return y;
  }

  const Function& f_;
  const ConstantPool& pool_;
  const relay::OperatorTable& operators_;
  const std::int64_t most_rows_;
  const std::vector<relay::RegionId> closed_;
  const relay::Uses uses_;
};

Result<Module> run_turn_row_matrices(Module module, PassContext& context) {
  const auto options = relay::read_attrs<TurnRowMatricesOptions>(context.options);
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return MatrixTurner(f, pool, context.operators, options.most_rows).run();
  });
}

}  // namespace

extern const Pass turn_row_matrices;
const Pass turn_row_matrices{
    .name = "turn-row-matrices",
    .summary = "lets matrices of 16 bits that few rows are multiplied by lie along the sum",
    .options = relay::attr_schema<TurnRowMatricesOptions>,
    .run = run_turn_row_matrices,
};

}  // namespace tessera::passes
