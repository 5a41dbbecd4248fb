// SPDX-License-Identifier: Apache-2.0
// The services that a back end may use while it compiles. Abstract; link/ and tune/ implement them
// and the driver hands them in, so that back ends depend on neither.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "byoc/made_parts.h"
#include "byoc/workload.h"
#include "diagnostics/diagnostic.h"
#include "toolchain/toolchain.h"

namespace tessera::byoc {

// What was measured before, on this machine or another; tune/ keeps it.
class Measurements {
 public:
  virtual ~Measurements() = default;
  // The ranking of devices whose description begins with `device`. If a size is open and nothing
  // was measured at that of the workload, it is that of the nearest size up to twice as large or
  // half as large: of several sizes, the factors' product counts.
  virtual Result<Ranking> ranking(std::string_view backend, std::string_view version,
                                  std::string_view device, const Workload& workload) const = 0;
};

struct CompileContext {
  Toolchain& toolchain;
  int jobs = 1;
  bool strict = false;
  std::vector<Diagnostic> warnings;
  const Measurements* measurements = nullptr;  // null: there are none
  MadeParts* made = nullptr;                   // null: nothing that is made is kept
};

}  // namespace tessera::byoc
