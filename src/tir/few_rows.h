// SPDX-License-Identifier: Apache-2.0
// Products of few rows with a matrix, as kernels for a device have them: the form that schedules
// make, and that emitters know again and write as a call of tessera/few_rows.cuh. It is loops like
// any others, so whoever does not know it computes the same.
#pragma once

#include <optional>
#include <vector>

#include "tir/index_form.h"
#include "tir/stmt.h"

namespace tessera::tir {

inline constexpr std::int64_t kFewRows = 16;  // that are multiplied at once

// y[row, column] = sum over k of data[row, k] * matrix[k, column]
struct FewRows {
  Buffer data;    // T[rows..., terms]
  Buffer weight;  // int32 words (tir/fragments.h), or T[columns, terms]
  // Of words: (q - zero) * scale, with F[tiles, blocks, 16]; no zero points: all are `one_zero`.
  Buffer scale, zero;
  double one_zero = 0;
  std::int64_t bits = 16, block = 0;

  bool has_words() const { return static_cast<bool>(scale); }
  std::int64_t terms() const;
  std::int64_t columns() const;  // with those that fill up the last tile
};

// How blocks share the columns: of a block, a multiple of 16 that divides them, and its threads. By
// what was measured (bench/results/2026-11-26-few-bits-gpu.md): where there are columns for many
// blocks, more of them in each read the data less often; where there are few, more threads keep
// more of the matrix under way.
std::int64_t few_rows_columns(const FewRows& p);
int few_rows_threads(const FewRows& p, std::int64_t columns);
// Shared memory of a block, and what the step of 16 columns takes there (tessera/few_rows.cuh).
inline constexpr std::int64_t kFewRowsBytes = 36864;  // 36 KiB
std::int64_t few_rows_step_bytes(const FewRows& p);

// The term k of a sum. `row`: the data's indices without the last one.
Expr few_rows_term(const FewRows& p, const std::vector<Expr>& row, const Expr& column,
                   const Expr& k);
// The same, taken apart; nothing where it cannot be one. Whoever asks makes it again and compares.
std::optional<FewRows> as_few_rows_term(const Expr& value, const Expr& k);
// The data's indices without the last one.
std::vector<Expr> row_indices(const Buffer& data, const Expr& row);

// The sums of some rows and columns, of a launch of blocks:
//   for e in threads(rows * columns): sums[e // columns, e % columns] = sum over k
struct FewRowsSums {
  FewRows product;
  Buffer sums;  // float32[kFewRows, columns], shared by the block
  Expr rows, first_row, first_column;

  std::int64_t columns() const;  // a multiple of 16
};
Stmt few_rows_sums(const FewRowsSums& s);
// `bounds`: of the variables around the loop.
std::optional<FewRowsSums> as_few_rows_sums(const For& loop, const Bounds& bounds);

}  // namespace tessera::tir
