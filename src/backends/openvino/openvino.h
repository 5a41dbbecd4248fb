// SPDX-License-Identifier: Apache-2.0
// OpenVINO as a back end of whole graphs on the CPU: regions as large as they can be, compiled by
// OpenVINO when the model is compiled, and imported by it when the model is created.
#pragma once

#include "byoc/backend.h"

namespace tessera::backends {

const byoc::Backend& openvino_backend();
// In the process that has a region compiled (engine.h).
void openvino_work(const std::string& folder);

}  // namespace tessera::backends
