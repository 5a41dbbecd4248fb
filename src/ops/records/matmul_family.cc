// SPDX-License-Identifier: Apache-2.0
#include "ops/records/matmul_family.h"

#include "ops/records/broadcast_index.h"
#include "ops/records/elementwise.h"
#include "ops/records/product_types.h"

namespace tessera::ops {
namespace {

// Where rows and columns of an operand are: counted from the end, 1 is the last dimension.
std::size_t row_place(bool transposed) { return transposed ? 1 : 2; }
std::size_t column_place(bool transposed) { return transposed ? 2 : 1; }

template <class T>
const T& from_end(const std::vector<T>& v, std::size_t place) {
  return v[v.size() - place];
}

// Strides of an operand for the index (batch..., row, column) of a result of `rank`.
Ints operand_strides(const Ints& shape, bool transposed, const Ints& batch) {
  const Ints dense = row_major_strides(shape);
  const Ints own_batch(shape.begin(), shape.end() - 2);
  Ints strides = broadcast_strides(own_batch, batch);
  for (std::size_t i = 0; i < own_batch.size(); ++i) {
    if (own_batch[i] != 1) strides[strides.size() - own_batch.size() + i] = dense[i];
  }
  strides.push_back(from_end(dense, row_place(transposed)));
  strides.push_back(from_end(dense, column_place(transposed)));
  return strides;
}

template <class T>
Elements<T> products(const EvalArgs& args, const MatmulForm& form) {
  const Elements<T> a = values_of<T>(args.operands[0]), b = values_of<T>(args.operands[1]);
  const Ints shape = static_shape(args.result);
  const Ints batch(shape.begin(), shape.end() - 2);
  const Ints a_strides = operand_strides(args.operands[0].shape, form.transpose_a, batch);
  const Ints b_strides = operand_strides(args.operands[1].shape, form.transpose_b, batch);
  const std::int64_t k_size = from_end(args.operands[0].shape, column_place(form.transpose_a));
  Elements<T> out;
  for (Counter c(shape); c; ++c) {
    Ints row = c.index(), column = c.index();
    row.back() = 0;
    column[column.size() - 2] = 0;
    std::int64_t x = 0, y = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      x += row[d] * a_strides[d];
      y += column[d] * b_strides[d];
    }
    T total = 0;
    for (std::int64_t k = 0; k < k_size; ++k) {
      total = wrapping_add(total, wrapping_multiply(a[x], b[y]));
      x += a_strides.back();
      y += b_strides[b_strides.size() - 2];
    }
    out.push_back(total);
  }
  return out;
}

}  // namespace

Result<Type> infer_matmul(const InferArgs& args, const MatmulForm& form) {
  TESSERA_TRY_VOID(expect_min_rank(args, 0, 2));
  TESSERA_TRY_VOID(expect_min_rank(args, 1, 2));
  TESSERA_TRY_VOID(expect_one_kind(args));
  const Shape &a = args.operands[0].shape(), &b = args.operands[1].shape();
  TESSERA_TRY_VOID(agreed(args, from_end(a, column_place(form.transpose_a)),
                          from_end(b, row_place(form.transpose_b)), "contraction sizes"));
  TESSERA_TRY(Shape shape,
              broadcast_shapes(args, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  shape.push_back(from_end(a, row_place(form.transpose_a)));
  shape.push_back(from_end(b, column_place(form.transpose_b)));
  if (form.units) {
    TESSERA_TRY(shape.back(),
                agreed(args, Dim(*form.units), shape.back(), "units and columns of the weight"));
  }
  return tensor_type(std::move(shape), form.out_dtype.value_or(args.operands[0].dtype()));
}

std::vector<Tensor> eval_matmul(const EvalArgs& args, const MatmulForm& form) {
  return in_domain(args.result.dtype(), [&]<class T>(T) -> std::vector<Tensor> {
    return {tensor_of(args.result, products<T>(args, form))};
  });
}

Definitions compute_matmul(const ComputeArgs& args, const MatmulForm& form) {
  const TensorExpr &a = args.operands[0], &b = args.operands[1];
  const DType dtype = result_dtype(args), wide = accumulator(dtype);
  const IterAxis k = tir::reduce_axis(from_end(a.shape(), column_place(form.transpose_a)), "k");
  const std::vector<Expr> shape = result_shape(args);
  // The operand's batch dimensions of a result index, then its two others in stored order.
  const auto element = [&](const TensorExpr& t, const Indices& i, Expr row, Expr column,
                           bool transposed) {
    Indices at;
    const std::size_t skipped = i.size() - t.rank();
    for (std::size_t d = 0; d + 2 < t.rank(); ++d) {
      at.push_back(broadcast_index(t.shape()[d], shape[d + skipped], i[d + skipped]));
    }
    if (transposed) std::swap(row, column);
    at.push_back(std::move(row));
    at.push_back(std::move(column));
    return tir::cast(t(std::move(at)), wide);
  };
  const TensorExpr product = tir::compute(
      "product", shape,
      [&](const Indices& i) {
        const Expr x = element(a, i, i[i.size() - 2], k.var, form.transpose_a);
        const Expr y = element(b, i, k.var, i.back(), form.transpose_b);
        return tir::sum({k}, x * y);
      },
      "matmul");
  return {converted(product, dtype)};
}

double matmul_flops(const CostArgs& args, const MatmulForm& form) {
  const Dim k = from_end(args.operands[0].shape(), column_place(form.transpose_a));
  return 2 * element_count(args.result) * static_cast<double>(k.as_constant().value_or(1));
}

}  // namespace tessera::ops
