// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::memory {

struct ReportOptions {
  std::vector<std::string> targets, dims;
  double most = 1.01;  // that the default algorithm's plan may take over the lower bound
};

// Prints what each algorithm's plan of the model's memory takes, in one line; false where that of
// the default algorithm is too much.
bool report_plans(const std::string& model, const ReportOptions& options);

}  // namespace tessera::memory
