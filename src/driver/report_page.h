// SPDX-License-Identifier: Apache-2.0
// `compile --report`: what one compilation did, as one page that needs nothing else: no network, no
// program, no file beside it. Equal input gives an equal page but for what html_time marks.
#pragma once

#include <string>
#include <vector>

#include "driver/build.h"
#include "driver/options.h"

namespace tessera::driver {

struct ReportFacts {
  const CompileOptions& options;
  const CompileReport& report;
  const Lowered& lowered;
  const emit::WeightsLayout& weights;
  const std::vector<std::string>& objects;    // that were linked
  std::vector<std::string> system_libraries;  // that the loader finds
};

std::string report_page(const ReportFacts& facts);

}  // namespace tessera::driver
