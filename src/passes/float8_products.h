// SPDX-License-Identifier: Apache-2.0
// Products of floats of eight bits: which ones kernels multiply, how a graph says what is rounded
// to them, and the scales that a calibration finds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "constants/float8.h"
#include "passes/pass.h"
#include "passes/weight_rules.h"
#include "relay/function.h"

namespace tessera::passes {

// Why there is no kernel; "" where there may be: rows of codes and of results are of whole words.
std::string why_no_float8_product(const Dim& columns, const Dim& terms);

// Does the form want one scale of the data, found before the run?
bool is_calibrated(const Float8Form& form, bool can_be);

// Calls with their types.
struct Float8Builder {
  relay::FunctionBuilder& b;
  const relay::OperatorTable& operators;

  relay::NodeId scale_for(double largest) const;
  // x of that type, float32, rounded to floats of eight bits times the scale; or times one for
  // each row.
  relay::NodeId rounded(relay::NodeId x, const Type& type, relay::NodeId scale) const;
  relay::NodeId rounded_by_rows(relay::NodeId x, const Type& type) const;
  // dense(data, matrix), of that type.
  relay::NodeId product(relay::NodeId data, const Float8Matrix& matrix, const Type& type) const;

 private:
  relay::NodeId call(std::string_view op, std::initializer_list<relay::NodeId> operands,
                     const Type& type, relay::Attrs attrs = {}) const;
};

// Of values of `main`, by node.
using LargestMagnitudes = std::map<relay::NodeId, double>;
// Over the runs of a calibration. An error names what is always zero, or is no number.
Result<LargestMagnitudes> largest_magnitudes(const Module& module,
                                             const std::vector<relay::NodeId>& values,
                                             PassContext& context);

}  // namespace tessera::passes
