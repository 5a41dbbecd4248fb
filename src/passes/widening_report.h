// SPDX-License-Identifier: Apache-2.0
// What a machine without kernels of 16-bit types computes in float32, for people.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "module/module.h"
#include "passes/precision_report.h"

namespace tessera::passes {

// What widen-precision finds to do, with products of matrices of some types that stay. Needs types.
struct WideningReport {
  std::vector<DType> dtypes;        // of those asked for, the ones that are computed in
  int operators = 0;                // calls that compute in them
  std::int64_t constant_bytes = 0;  // of all constants that passes see
};
WideningReport widening_report(const Module& module, std::span<const DType> narrow,
                               std::span<const DType> products = {});

// The report of a module that is not made narrow at all, with one reason. Needs types.
PrecisionReport unchanged_precision(const Module& module, DType low, const std::string& why);

}  // namespace tessera::passes
