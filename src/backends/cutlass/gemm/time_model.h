// SPDX-License-Identifier: Apache-2.0
// How long a kernel takes, without a device: what the order of candidates comes from.
#pragma once

#include "backends/cutlass/gemm/configuration.h"

namespace tessera::backends::cutlass {

// Where a number of rows is not known, a usual one is meant.
double tiles_of(const Gemm& gemm, const Configuration& configuration);
// As many tiles at once as there are multiprocessors.
double waves_of(const Gemm& gemm, const Configuration& configuration, const Device& device);

double estimated_microseconds(const Gemm& gemm, const Configuration& configuration,
                              const Device& device);

}  // namespace tessera::backends::cutlass
