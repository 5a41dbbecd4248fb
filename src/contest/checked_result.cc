// SPDX-License-Identifier: Apache-2.0
#include "contest/checked_result.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "constants/tensor.h"

namespace tessera::contest {
namespace {

constexpr std::int64_t kMostPlaces = 64;  // along rows, and along columns
constexpr double kSingle = 20;

std::uint64_t mixed(std::uint64_t place, unsigned seed) {
  std::uint64_t bits = (place + 1) * 0x9e3779b97f4a7c15u + seed * 0xd1342543de82ef95u;
  for (int i = 0; i < 2; ++i) bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93u;
  return bits ^ (bits >> 32);
}

double normal_number(std::uint64_t bits) {
  const double u = (static_cast<double>(bits & 0xffffff) + 1) / 16777217;
  const double v = static_cast<double>(bits >> 40) / 16777216;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// One of each part of [0, count); the first and the last.
std::vector<std::int64_t> spread(std::int64_t count, unsigned seed) {
  const std::int64_t parts = std::min(count, kMostPlaces);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t begin = count * i / parts, end = count * (i + 1) / parts;
    const auto inside = static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(i), seed) >> 1);
    places.push_back(begin + inside % (end - begin));
  }
  places.front() = 0;
  places.back() = count - 1;
  return places;
}

}  // namespace

double usual_limit(DType dtype) {
  if (dtype == kFloat16) return 1e-3;
  return dtype == kBFloat16 ? 4e-3 : 2e-5;
}

CheckedResult::CheckedResult(Device& device, std::int64_t rows, std::int64_t columns, DType dtype,
                             double limit)
    : device_(device),
      dtype_(dtype),
      limit_(limit),
      columns_of_row_(columns),
      bytes_(static_cast<std::uint64_t>(rows * columns * dtype.size_bytes())),
      data_(device.allocate(bytes_)),
      rows_(spread(rows, 1)),
      columns_(spread(columns, 2)) {
  // Not a number, of floats.
  const std::vector<std::byte> ones(bytes_, std::byte{0xff});
  spoilt_ = device.upload(ones);
}

void CheckedResult::spoil() { device_.copy(data_, spoilt_, bytes_); }

std::string CheckedResult::mistake(std::string* fault) const {
  double squares = 0, wanted_squares = 0, largest = 0;
  for (const double w : wanted_) wanted_squares += w * w;
  const double typical = std::sqrt(wanted_squares / static_cast<double>(wanted_.size()));
  const auto row_bytes = static_cast<std::uint64_t>(columns_of_row_ * dtype_.size_bytes());
  std::size_t at = 0;
  for (const std::int64_t row : rows_) {
    std::vector<std::byte> bytes(row_bytes);
    const auto* from =
        static_cast<const char*>(data_) + static_cast<std::uint64_t>(row) * row_bytes;
    *fault = device_.download(bytes.data(), from, row_bytes);
    if (!fault->empty()) return "";
    const Tensor values({columns_of_row_}, dtype_, Blob::adopt(std::move(bytes)));
    for (const std::int64_t column : columns_) {
      const double wanted = wanted_[at++];
      const double difference = std::abs(element_as_double(values, column) - wanted);
      squares += difference * difference;  // keeps what is no number
      largest = std::max(largest, difference / (std::abs(wanted) + typical));
    }
  }
  const double error = wanted_squares > 0 ? std::sqrt(squares / wanted_squares) : squares;
  if (error < limit_ && largest < kSingle * limit_) return "";
  return fmt::format(
      "it computes wrong numbers: off by {:.2g} (limit {:.2g}), single elements by {:.2g}", error,
      limit_, largest);
}

std::vector<std::byte> random_numbers(std::int64_t count, DType dtype, double scale,
                                      unsigned seed) {
  constexpr std::int64_t kPiece = 1 << 16;
  std::vector<std::byte> all;
  all.reserve(static_cast<std::size_t>(count * dtype.size_bytes()));
  std::vector<double> values;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    values.clear();
    for (std::int64_t i = begin; i < begin + size; ++i) {
      values.push_back(scale * normal_number(mixed(static_cast<std::uint64_t>(i), seed)));
      if (dtype.is_int()) values.back() = std::round(values.back());
    }
    const Tensor rounded = tensor_from_doubles({size}, dtype, values);
    all.insert(all.end(), rounded.blob->bytes().begin(), rounded.blob->bytes().end());
  }
  return all;
}

}  // namespace tessera::contest
