// SPDX-License-Identifier: Apache-2.0
#include "passes/quantize_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <thread>

#include "support/jobs.h"

namespace tessera::passes {
namespace {

struct Group {
  float scale = 0;
  int zero = 0;
};

// A scale is stored in bfloat16, rounded away from zero: no element is cut off.
float stored(float scale) {
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  return std::bit_cast<float>((bits + 0xffffU) & 0xffff0000U);
}

int quantized(float value, const Group& g, int largest) {
  if (g.scale == 0) return g.zero;
  const float q = std::nearbyint(value / g.scale) + static_cast<float>(g.zero);
  return static_cast<int>(std::clamp(q, 0.F, static_cast<float>(largest)));
}

double error_of(std::span<const float> values, const Group& g, int largest) {
  double sum = 0;
  for (const float v : values) {
    const double off = v - static_cast<float>(quantized(v, g, largest) - g.zero) * g.scale;
    sum += off * off;
  }
  return sum;
}

Group symmetric_group(std::span<const float> values, int largest) {
  const int zero = (largest + 1) / 2;
  float top = 0;
  for (const float v : values) {
    if (std::abs(v) > std::abs(top)) top = v;
  }
  const Group lowest{stored(-top / static_cast<float>(zero)), zero};
  const Group highest{stored(std::abs(top) / static_cast<float>(zero - 1)), zero};
  return error_of(values, lowest, largest) < error_of(values, highest, largest) ? lowest : highest;
}

Group asymmetric_group(std::span<const float> values, int largest) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const float low = std::min(*least, 0.F), high = std::max(*most, 0.F);
  Group g{stored((high - low) / static_cast<float>(largest)), 0};
  g.zero = quantized(-low, g, largest);
  return g;
}

class Quantizer {
 public:
  Quantizer(const Tensor& matrix, bool has_rows_of_terms, const WeightForm& form)
      : form_(form),
        values_(matrix.as<float>()),
        columns_(matrix.shape[has_rows_of_terms ? 0 : 1]),
        terms_(matrix.shape[has_rows_of_terms ? 1 : 0]),
        column_step_(has_rows_of_terms ? terms_ : 1),
        term_step_(has_rows_of_terms ? 1 : columns_),
        groups_((terms_ + form.group - 1) / form.group),
        row_bytes_((terms_ * form.bits + 7) / 8),
        largest_((1 << form.bits) - 1) {
    scales_.resize(static_cast<std::size_t>(columns_ * groups_));
    zeros_.resize(scales_.size());
    data_.resize(static_cast<std::size_t>(columns_ * row_bytes_));
    errors_.resize(static_cast<std::size_t>(columns_));
    norms_.resize(errors_.size());
  }

  QuantizedMatrix run() {
    run_jobs(static_cast<std::size_t>(columns_), std::thread::hardware_concurrency(),
             [&](std::size_t column) { quantize_column(static_cast<std::int64_t>(column)); });
    const double norm = std::accumulate(norms_.begin(), norms_.end(), 0.0);
    const std::vector<std::int64_t> per_group = {columns_, groups_};
    return {Tensor({columns_, row_bytes_}, kUInt8, Blob::adopt(std::move(data_))),
            Tensor::of<float>(per_group, kFloat32, scales_),
            form_.is_symmetric
                ? Tensor::scalar(static_cast<std::uint8_t>((largest_ + 1) / 2), kUInt8)
                : tensor_from_ints(per_group, kUInt8, zeros_),
            {-1, form_.group, form_.bits, terms_},
            norm > 0 ? std::sqrt(std::accumulate(errors_.begin(), errors_.end(), 0.0) / norm) : 0};
  }

 private:
  void quantize_column(std::int64_t column) {
    std::vector<float> values(static_cast<std::size_t>(terms_));
    for (std::int64_t k = 0; k < terms_; ++k) {
      values[static_cast<std::size_t>(k)] =
          values_[static_cast<std::size_t>(column * column_step_ + k * term_step_)];
    }
    for (std::int64_t g = 0; g < groups_; ++g) {
      const auto first = static_cast<std::size_t>(g * form_.group);
      const std::span<const float> group = std::span<const float>(values).subspan(
          first, std::min(static_cast<std::size_t>(form_.group), values.size() - first));
      quantize_group(column, g, group);
    }
  }

  void quantize_group(std::int64_t column, std::int64_t g, std::span<const float> values) {
    const Group group =
        form_.is_symmetric ? symmetric_group(values, largest_) : asymmetric_group(values, largest_);
    const auto place = static_cast<std::size_t>(column * groups_ + g);
    scales_[place] = group.scale;
    zeros_[place] = group.zero;
    const auto c = static_cast<std::size_t>(column);
    errors_[c] += error_of(values, group, largest_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      norms_[c] += static_cast<double>(values[i]) * values[i];
      const std::int64_t bit = (g * form_.group + static_cast<std::int64_t>(i)) * form_.bits;
      data_[static_cast<std::size_t>(column * row_bytes_ + bit / 8)] |=
          static_cast<std::byte>(quantized(values[i], group, largest_) << (bit % 8));
    }
  }

  WeightForm form_;
  std::span<const float> values_;
  std::int64_t columns_, terms_, column_step_, term_step_, groups_, row_bytes_;
  int largest_;
  std::vector<float> scales_;
  std::vector<std::int64_t> zeros_;
  std::vector<std::byte> data_;
  std::vector<double> errors_, norms_;  // squares, by column
};

}  // namespace

QuantizedMatrix quantize_blocks(const Tensor& matrix, bool has_rows_of_terms,
                                const WeightForm& form) {
  return Quantizer(matrix, has_rows_of_terms, form).run();
}

}  // namespace tessera::passes
