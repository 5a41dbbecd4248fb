// SPDX-License-Identifier: Apache-2.0
// Matrices of integers of a few bits in the order in which the threads of a warp read them, so that
// each has with one access of 16 bytes what it multiplies: the fragments of mma.m16n8k16, whose
// rows are 16 columns of the matrix. Which terms of a sum meet in which step is free, so each
// thread takes eight neighbours.
//   words: int32[tiles of 16 columns, steps, 32 threads * 4 words]
// A step has 256 / bits terms. Of 32 of them thread 4 g + t has terms 8 t to 8 t + 7, first of
// column g, then of column g + 8; next come those of the next 32 terms. In a word a term and the
// next one lie 16 bits apart: a mask leaves them where halves of a register are.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tir/expr.h"

namespace tessera::tir {

inline constexpr std::int64_t kFragmentColumns = 16;  // of a tile
inline constexpr std::int64_t kFragmentWords = 128;   // of a step
inline constexpr std::int64_t kFragmentTerms = 32;    // that have one scale
constexpr std::int64_t terms_of_a_step(std::int64_t bits) { return 256 / bits; }

// Where a matrix has the integer of a column of a tile: as numbers, or as expressions.
template <class I>
struct FragmentPlace {
  I step, word, shift;
};
template <class I>
FragmentPlace<I> fragment_place(const I& column, const I& term, std::int64_t bits) {
  const auto div = [](const I& a, std::int64_t b) { return floor_div(a, I(b)); };
  const auto mod = [](const I& a, std::int64_t b) { return floor_mod(a, I(b)); };
  const std::int64_t each = 32 / bits, terms = terms_of_a_step(bits);
  const I thread = mod(column, 8) * I(4) + div(mod(term, 32), 8);
  const I pair = div(mod(term, terms), 32) * I(2) + div(column, 8);  // which terms, which column
  const I place = pair * I(8) + mod(term, 8);                        // of the thread's in the step
  const I field = mod(place, 2) * I(each / 2) + div(mod(place, each), 2);
  return {div(term, terms), thread * I(4) + div(place, each), field * I(bits)};
}

// (q - zero) * scale of a column and a term in float32, by what reads the three tensors.
using ElementAt = std::function<Expr(std::vector<Expr>)>;
struct FragmentTensors {
  ElementAt word, scale, zero;
  std::int64_t bits, block;  // terms that have one scale
};
Expr fragment_element(const FragmentTensors& tensors, const Expr& column, const Expr& term);

}  // namespace tessera::tir
