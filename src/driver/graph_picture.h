// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "driver/html.h"
#include "driver/options.h"
#include "module/module.h"

namespace tessera::driver {

inline constexpr std::size_t kMostCallsInPicture = 2000;

// What the library calls as SVG, with a legend before it: from the top to the bottom a box for each
// call of the host program, in the colour of its back end, and a line for the tensors from one call
// to another. What is known of a call stands in its tooltip: nodes of the model, and of measured
// placement the times. A sentence instead, where there is too much for a picture.
Html graph_picture(const Module& lowered, const CompileReport& report);

}  // namespace tessera::driver
