// SPDX-License-Identifier: Apache-2.0
// When results agree with the reference evaluation.
#pragma once

#include <map>
#include <string>

#include "constants/tensor.h"
#include "module/module.h"

namespace tessera::ops {

// How far a float of this type may be off where sums are taken in another order and products are
// contracted: after one operator, and after several in a row, each rounding what it hands on. Zero
// for types that are no floats.
double operator_tolerance(DType dtype);
double graph_tolerance(DType dtype);
// The same of all that operators of a function give: kernels round what they hand on, the reference
// rounds after each operator, so the narrowest type on the way counts. `float32_precision`: what
// products of float32 are as exact as (Extern).
double graph_tolerance(const relay::Function& f, DType float32_precision);
// That of the least exact of them.
DType float32_precision(const std::map<std::string, Extern>& externs);

// Infinite where types differ, or the places of NaNs and infinities.
double largest_difference(const Tensor& found, const Tensor& wanted);
// The same relative to the largest magnitude of `wanted`, for results whose errors come from sums
// over all of it.
double relative_difference(const Tensor& found, const Tensor& wanted);

// The first element that is further off than `tolerance`, absolute below 1 and relative above, as
// "element 3: 1.5 instead of 1"; "" if there is none.
std::string first_difference(const Tensor& found, const Tensor& wanted, double tolerance);

}  // namespace tessera::ops
