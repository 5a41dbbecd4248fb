// SPDX-License-Identifier: Apache-2.0
// Where ways leave their results, and what these have to agree with: at places of some rows and
// columns, for which the host has computed what is wanted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contest/device.h"
#include "types/type.h"

namespace tessera::contest {

// How far results may be off: as a share of the root mean square, and single elements by 20 times
// that.
double usual_limit(DType dtype);

class CheckedResult {
 public:
  // Rows of so many columns beside each other. The columns and rows that are looked at are spread
  // over all of them, the first and the last among them.
  CheckedResult(Device& device, std::int64_t rows, std::int64_t columns, DType dtype, double limit);

  void* data() const { return data_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  const std::vector<std::int64_t>& columns() const { return columns_; }
  // What is wanted where these meet, row by row.
  void want(std::vector<double> values) { wanted_ = std::move(values); }

  void spoil();
  // As of Work.
  std::string mistake(std::string* fault) const;

 private:
  Device& device_;
  DType dtype_;
  double limit_;
  std::int64_t columns_of_row_;
  std::uint64_t bytes_;
  void *data_, *spoilt_;
  std::vector<std::int64_t> rows_, columns_;
  std::vector<double> wanted_;
};

// Normally distributed numbers, times `scale`, rounded to the type; a function of place and seed.
std::vector<std::byte> random_numbers(std::int64_t count, DType dtype, double scale, unsigned seed);

}  // namespace tessera::contest
