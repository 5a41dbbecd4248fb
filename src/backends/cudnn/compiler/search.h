// SPDX-License-Identifier: Apache-2.0
// Configurations that cuDNN's heuristics have for a region on the device that is there:
// checked and timed.
#pragma once

#include <string>

#include "backends/cudnn/compiler/region.h"
#include "byoc/tuning_task.h"
#include "contest/device.h"

namespace tessera::backends::cudnn {

// As of byoc::SearchFunction; `arch` is that of the device.
void search_plans(const Region& region, const std::string& arch, const tessera_device_api& device,
                  const byoc::Search& search, byoc::SearchReport& report);

}  // namespace tessera::backends::cudnn
