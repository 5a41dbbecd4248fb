// SPDX-License-Identifier: Apache-2.0
// An engine of cuDNN with its choices as a text: "10:2=5,13=1" is engine 10 with choice 2 at 5 and
// choice 13 at 1, by the library's numbers.
#pragma once

#include "backends/cudnn/runtime/plan.h"

namespace tessera::backends::cudnn {

// The plan that the text means for the graph, which must stay.
[[nodiscard]] bool make_plan(const Device& device, const OperationGraph& graph,
                             std::string_view text, Plan* plan, TextBuffer* error);

}  // namespace tessera::backends::cudnn
