// SPDX-License-Identifier: Apache-2.0
// Matrices of a 16-bit type of which the columns sum up to zero.
#pragma once

#include <cstdint>
#include <vector>

#include "types/dtype.h"

namespace tessera::passes {

// Where the elements of a matrix lie.
struct MatrixLayout {
  std::size_t rows = 0, columns = 0;
  bool is_column_major = false;
  std::size_t at(std::size_t row, std::size_t column) const {
    return is_column_major ? column * rows + row : row * columns + column;
  }
  // f(row, column, place) of all elements, in the order of their places.
  template <class F>
  void for_each(F&& f) const {
    std::size_t place = 0;
    for (std::size_t i = 0; i < (is_column_major ? columns : rows); ++i) {
      for (std::size_t j = 0; j < (is_column_major ? rows : columns); ++j, ++place) {
        is_column_major ? f(j, i, place) : f(i, j, place);
      }
    }
  }
};

// Takes the mean of each column from its elements and rounds them to `dtype` (float16 or bfloat16,
// which must have room for them) so that their sum is zero within a fraction of the last digit.
// For that, some elements that are nearly half way between two numbers go to the farther one. If
// each were rounded to nearest, `rows` errors would sum up, and what multiplies the sum may be
// large.
void center_columns(std::vector<double>& matrix, const MatrixLayout& layout, DType dtype);

}  // namespace tessera::passes
