// SPDX-License-Identifier: Apache-2.0
// Algorithms of cublasLt for a product, which it tells on the device alone: checked and timed
// there.
#pragma once

#include <string>

#include "backends/cublas/runtime/spec.h"
#include "byoc/tuning_task.h"
#include "contest/device.h"

namespace tessera::backends::cublas {

struct SearchedProduct {
  Spec spec;         // all sizes are numbers
  std::string arch;  // of the device
};

// As of byoc::SearchFunction.
void search_algorithms(const SearchedProduct& product, const tessera_device_api& device,
                       const byoc::Search& search, byoc::SearchReport& report);

}  // namespace tessera::backends::cublas
