// SPDX-License-Identifier: Apache-2.0
// Normalisations: y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance
// over some axes and gamma and beta along one axis. RMS norms take the mean as 0 and have no beta.
#pragma once

#include "ops/records/reduce.h"

namespace tessera::ops {

struct Normalization {
  std::vector<bool> over;  // dimensions that mean and variance are taken over
  std::int64_t param_axis = 0;
  double epsilon = 1e-5;
  bool center = true, scale = true;
  bool subtracts_mean = true;
};

// Data and parameters, where those have the size of the data's `axis`.
Result<Type> infer_normalize(const InferArgs& args, std::int64_t axis);
std::vector<Tensor> eval_normalize(const EvalArgs& args, const Normalization& n);
Definitions compute_normalize(const ComputeArgs& args, const Normalization& n, std::string tag);
// The two numbers of each group with which (x - mean) / sqrt(variance + epsilon) is
// x * factor + shift.
std::vector<Tensor> eval_norm_factors(const EvalArgs& args, const Normalization& n);
Definitions compute_norm_factors(const ComputeArgs& args, const Normalization& n,
                                 const std::string& tag);

}  // namespace tessera::ops
