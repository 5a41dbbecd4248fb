// SPDX-License-Identifier: Apache-2.0
#include "passes/mixed_weight.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "passes/narrow_constant.h"
#include "support/jobs.h"
#include "tir/expr_ops.h"

namespace tessera::passes {
namespace {

using ops::DenseMixedAttrs;

constexpr std::int64_t kWordBits = 128;  // what is copied at once

// What is stored of a matrix, and in how many bits.
struct StoredForm {
  DenseMixedAttrs attrs;
  std::int64_t middle = 0;  // what integers have more than the signed ones that are stored
};

StoredForm form_of(const BlockConstants& c, std::int64_t terms) {
  const bool is_narrow =
      c.attrs.bits == 8 && terms % (kWordBits / 4) == 0 && holds_four_bits(c.data);
  StoredForm form;
  form.attrs.bits = is_narrow ? 4 : c.attrs.bits;
  form.attrs.block_size = std::min(c.attrs.block_size, terms);
  if (c.data.dtype != kInt8) form.middle = std::int64_t{1} << (form.attrs.bits - 1);
  return form;
}

Tensor bytes_of(const BlockMatrix& matrix, const StoredForm& form) {
  const std::int64_t each = 8 / form.attrs.bits, length = matrix.terms / each;
  std::vector<std::byte> bytes(static_cast<std::size_t>(matrix.columns * length));
  const auto write_column = [&](std::size_t column) {
    const auto n = static_cast<std::int64_t>(column);
    for (std::int64_t k = 0; k < matrix.terms; ++k) {
      const auto q = static_cast<std::uint32_t>(matrix.at(n, k) - form.middle);
      const std::uint32_t bits = q & ((1U << form.attrs.bits) - 1);
      bytes[static_cast<std::size_t>(n * length + k / each)] |=
          std::byte(bits << (k % each * form.attrs.bits));
    }
  };
  run_jobs(static_cast<std::size_t>(matrix.columns), std::thread::hardware_concurrency(),
           write_column);
  return Tensor({matrix.columns, length}, kInt8, Blob::adopt(std::move(bytes)));
}

// The scales, and what zero points add, [1 or 2, blocks, columns].
class Parameters {
 public:
  Parameters(const BlockConstants& c, bool has_rows_of_terms, const StoredForm& form, DType dtype)
      : c_(c),
        has_rows_of_terms_(has_rows_of_terms),
        columns_(c.scale.shape[has_rows_of_terms ? 0 : 1]),
        blocks_(c.scale.shape[has_rows_of_terms ? 1 : 0]),
        form_(form),
        dtype_(dtype) {}

  std::optional<Tensor> tensor() {
    std::vector<double> scales, offsets;
    for (std::int64_t block = 0; block < blocks_; ++block) {
      for (std::int64_t column = 0; column < columns_; ++column) {
        const double scale = at(c_.scale, column, block);
        const double zero = at(c_.zero_point, column, block) - static_cast<double>(form_.middle);
        if (!is_held(scale, zero)) return std::nullopt;
        scales.push_back(scale);
        offsets.push_back(zero == 0 ? 0 : -zero * scale);
        look_at(scale, offsets.back());
      }
    }
    if (has_offsets_) scales.insert(scales.end(), offsets.begin(), offsets.end());
    const Tensor wide =
        tensor_from_doubles({has_offsets_ ? 2 : 1, blocks_, columns_}, kFloat32, scales);
    return loses_little_ ? narrowed(wide, dtype_) : wide;
  }

 private:
  double at(const Tensor& t, std::int64_t column, std::int64_t block) const {
    if (t.is_scalar()) return element_as_double(t, 0);
    return element_as_double(
        t, has_rows_of_terms_ ? column * blocks_ + block : block * columns_ + column);
  }

  // Does the type hold all numbers of the block, and those on the way to them?
  bool is_held(double scale, double zero) const {
    const double largest = dtype_ == kFloat16 ? 65504 : 1e30;
    const double most = std::ldexp(1, static_cast<int>(form_.attrs.bits) - 1) + std::abs(zero);
    return most * std::abs(scale) <= largest;
  }

  // A scale may lose what rounding takes of a normal number, as the weight does that it makes. An
  // offset's error adds up over all of a block's data, and so does what its product loses that the
  // offset is added to: a small part of what a step between integers is.
  void look_at(double scale, double offset) {
    constexpr double kOfStep = 1.0 / 64;
    const double unit = dtype_ == kFloat16 ? 0x1p-11 : 0x1p-8;  // roundoff
    const auto error = [&](double value) {
      return std::abs(tir::round_float(value, dtype_) - value);
    };
    has_offsets_ = has_offsets_ || offset != 0;
    const double of_product = std::ldexp(unit, static_cast<int>(form_.attrs.bits) - 1);
    loses_little_ = loses_little_ && error(scale) <= unit * std::abs(scale) &&
                    error(offset) <= kOfStep * std::abs(scale) &&
                    (offset == 0 || of_product <= kOfStep);
  }

  const BlockConstants& c_;
  const bool has_rows_of_terms_;
  const std::int64_t columns_, blocks_;
  const StoredForm& form_;
  const DType dtype_;
  bool has_offsets_ = false, loses_little_ = true;
};

}  // namespace

std::string why_no_mixed_product(const Dim& columns, const Dim& terms,
                                 const DenseMixedAttrs& form) {
  constexpr std::int64_t kColumns = 8, kStep = 64;
  const std::int64_t word = kWordBits / form.bits;
  const auto suits = [](const Dim& size, std::int64_t of) {
    return size.is_constant() && size.constant() > 0 && size.constant() % of == 0;
  };
  if (!suits(terms, word)) {
    return fmt::format("weights of {} bits need sums of a multiple of {} terms, not {}", form.bits,
                       word, to_string(terms));
  }
  if (!suits(columns, kColumns)) {
    return fmt::format("weights of {} bits need a multiple of {} columns, not {}", form.bits,
                       kColumns, to_string(columns));
  }
  if (form.block_size % kStep != 0 && form.block_size != terms.constant()) {
    return fmt::format("groups of {} terms are no multiple of {}, which a step of the kernel has",
                       form.block_size, kStep);
  }
  return "";
}

std::optional<MixedWeight> mixed_weight(const BlockConstants& c, bool has_rows_of_terms,
                                        DType dtype) {
  if (c.attrs.bits < 4 || !has_blocks_of_terms(c, has_rows_of_terms)) return std::nullopt;
  const BlockMatrix matrix(c, has_rows_of_terms);
  if (matrix.columns < 1 || matrix.terms < 1) return std::nullopt;
  const StoredForm form = form_of(c, matrix.terms);
  if (!why_no_mixed_product(matrix.columns, matrix.terms, form.attrs).empty()) return std::nullopt;
  auto parameters = Parameters(c, has_rows_of_terms, form, dtype).tensor();
  if (!parameters) return std::nullopt;
  return MixedWeight{bytes_of(matrix, form), *std::move(parameters), form.attrs};
}

}  // namespace tessera::passes
