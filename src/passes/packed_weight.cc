// SPDX-License-Identifier: Apache-2.0
#include "passes/packed_weight.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>

#include "ops/records/block_columns.h"
#include "passes/narrow_constant.h"
#include "support/jobs.h"
#include "tir/fragments.h"

namespace tessera::passes {
namespace {

constexpr std::int64_t kWholeBlock = 32;
constexpr double kLargestScale = 1e30;

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

// How integers are written: (q + offset) in so many bits.
struct Encoding {
  std::int64_t offset = 0, bits = 8;
};

bool fills_words(std::int64_t block_size, std::int64_t bits, ops::WordOrder order) {
  return order == ops::WordOrder::kFragments ? block_size % tir::kFragmentTerms == 0
                                             : block_size * bits % 32 == 0;
}

Encoding encoding_of(const BlockConstants& c, std::int64_t block_size, ops::WordOrder order) {
  if (c.attrs.bits < 8) return {0, c.attrs.bits};
  const bool is_signed = c.data.dtype == kInt8;
  const bool halves = fills_words(block_size, 4, order);
  if (halves && holds_four_bits(c.data)) return {is_signed ? 8 : 0, 4};
  return {is_signed ? 128 : 0, 8};
}

using ops::kColumnsOfATile;
using ops::tiles_of;

// `length` numbers a column, in tiles; zero after the last column.
template <class T, class F>
std::vector<std::byte> in_tiles(std::int64_t columns, std::int64_t length, const F& number) {
  const std::int64_t tile_size = length * kColumnsOfATile;
  std::vector<std::byte> bytes(static_cast<std::size_t>(tiles_of(columns) * tile_size) * sizeof(T));
  const auto write_tile = [&](std::size_t tile) {
    const std::int64_t first = static_cast<std::int64_t>(tile) * kColumnsOfATile;
    std::vector<T> values(static_cast<std::size_t>(tile_size));
    for (std::int64_t c = 0; c < std::min(kColumnsOfATile, columns - first); ++c) {
      for (std::int64_t i = 0; i < length; ++i) {
        values[static_cast<std::size_t>(i * kColumnsOfATile + c)] = number(first + c, i);
      }
    }
    std::memcpy(bytes.data() + tile * values.size() * sizeof(T), values.data(),
                values.size() * sizeof(T));
  };
  run_jobs(static_cast<std::size_t>(tiles_of(columns)), std::thread::hardware_concurrency(),
           write_tile);
  return bytes;
}

Tensor words_of(const BlockMatrix& matrix, const Encoding& encoding, std::int64_t words) {
  const std::int64_t each = 32 / encoding.bits;
  const auto word = [&](std::int64_t column, std::int64_t i) {
    std::uint32_t bits = 0;
    for (std::int64_t k = i * each; k < std::min((i + 1) * each, matrix.terms); ++k) {
      const auto q = static_cast<std::uint32_t>(matrix.at(column, k) + encoding.offset);
      bits |= q << ((k - i * each) * encoding.bits);
    }
    return bits;
  };
  return Tensor({tiles_of(matrix.columns), words, kColumnsOfATile}, kInt32,
                Blob::adopt(in_tiles<std::uint32_t>(matrix.columns, words, word)));
}

// `number(place)` for each block of a column, as T is stored.
template <class T, class F>
Tensor in_blocks(const Tensor& t, bool has_rows_of_terms, DType dtype, const F& number) {
  const std::int64_t columns = t.shape[has_rows_of_terms ? 0 : 1];
  const std::int64_t blocks = t.shape[has_rows_of_terms ? 1 : 0];
  const auto at = [&](std::int64_t column, std::int64_t i) {
    return number(has_rows_of_terms ? column * blocks + i : i * columns + column);
  };
  return Tensor({tiles_of(columns), blocks, kColumnsOfATile}, dtype,
                Blob::adopt(in_tiles<T>(columns, blocks, at)));
}

// All integers in the order of a warp's threads, those after the last column and term 0.
Tensor fragments_of(const BlockMatrix& matrix, const Encoding& encoding) {
  const std::int64_t terms = tir::terms_of_a_step(encoding.bits);
  const std::int64_t steps = (matrix.terms + terms - 1) / terms;
  const std::int64_t tiles = tiles_of(matrix.columns), size = steps * tir::kFragmentWords;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(tiles * size));
  run_jobs(
      static_cast<std::size_t>(tiles), std::thread::hardware_concurrency(), [&](std::size_t tile) {
        const std::int64_t first = static_cast<std::int64_t>(tile) * kColumnsOfATile;
        const std::span own(words.data() + static_cast<std::int64_t>(tile) * size,
                            static_cast<std::size_t>(size));
        for (std::int64_t c = 0; c < std::min(kColumnsOfATile, matrix.columns - first); ++c) {
          for (std::int64_t k = 0; k < matrix.terms; ++k) {
            const auto place = tir::fragment_place(c, k, encoding.bits);
            const auto q = static_cast<std::uint32_t>(matrix.at(first + c, k) + encoding.offset);
            own[static_cast<std::size_t>(place.step * tir::kFragmentWords + place.word)] |=
                q << place.shift;
          }
        }
      });
  const auto bytes = std::as_bytes(std::span(words));
  return Tensor({tiles, steps, tir::kFragmentWords}, kInt32,
                Blob::adopt(std::vector<std::byte>(bytes.begin(), bytes.end())));
}

// Does float16 hold it as a number that is not subnormal?
bool fits_half(float value) {
  const double size = std::abs(static_cast<double>(value));
  if (size == 0) return true;
  return size >= 0x1p-14 && size <= 65504 && tir::round_float(value, kFloat16) == value;
}

// A number for each block of a column: in half the size where that loses nothing.
Tensor parameters_of(const Tensor& t, bool has_rows_of_terms, std::int64_t offset,
                     ops::WordOrder order) {
  constexpr std::uint32_t kLost = 0xffff;
  const auto number = [&](std::int64_t place) {
    return static_cast<float>(element_as_double(t, place) + static_cast<double>(offset));
  };
  const auto bits = [&](std::int64_t place) { return std::bit_cast<std::uint32_t>(number(place)); };
  if (t.is_scalar()) return Tensor::scalar(number(0), kFloat32);
  bool is_exact = true, is_half = order == ops::WordOrder::kFragments;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    is_exact = is_exact && (bits(i) & kLost) == 0;
    is_half = is_half && fits_half(number(i));
  }
  if (!is_exact) {
    const Tensor wide = in_blocks<float>(t, has_rows_of_terms, kFloat32, number);
    return is_half ? narrowed(wide, kFloat16) : wide;
  }
  return in_blocks<std::uint16_t>(t, has_rows_of_terms, kBFloat16, [&](std::int64_t place) {
    return static_cast<std::uint16_t>(bits(place) >> 16);
  });
}

bool is_moderate(const Tensor& scale) {
  for (std::int64_t i = 0; i < scale.num_elements(); ++i) {
    if (!(std::abs(element_as_double(scale, i)) <= kLargestScale)) return false;
  }
  return true;
}

}  // namespace

std::optional<PackedWeight> packed_weight(const BlockConstants& c, bool has_rows_of_terms,
                                          ops::WordOrder order) {
  if (c.data.shape.size() != 2 || !is_moderate(c.scale)) return std::nullopt;
  if (!has_blocks_of_terms(c, has_rows_of_terms)) return std::nullopt;
  const BlockMatrix matrix(c, has_rows_of_terms);
  if (matrix.columns < 1 || matrix.terms < 1) return std::nullopt;
  const std::int64_t given = c.attrs.block_size;
  const std::int64_t block = given < matrix.terms ? given : round_up(matrix.terms, kWholeBlock);
  const std::int64_t blocks = (matrix.terms + block - 1) / block;
  const Encoding encoding = encoding_of(c, block, order);
  if (!fills_words(block, encoding.bits, order)) return std::nullopt;
  return PackedWeight{order == ops::WordOrder::kFragments
                          ? fragments_of(matrix, encoding)
                          : words_of(matrix, encoding, blocks * block * encoding.bits / 32),
                      parameters_of(c.scale, has_rows_of_terms, 0, order),
                      parameters_of(c.zero_point, has_rows_of_terms, encoding.offset, order),
                      {matrix.columns, block, encoding.bits, matrix.terms}};
}

}  // namespace tessera::passes
