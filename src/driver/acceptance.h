// SPDX-License-Identifier: Apache-2.0
// Whether a model would compile: all that is refused, and what of it would be slow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "import/import_onnx.h"

namespace tessera::driver {

struct RefusedPlace {
  std::string place;                     // in the file: a node's name, "7:8", or ""
  std::optional<import::OnnxNode> node;  // where it is one of an ONNX model
};

// One reason, and every place that it was found at.
struct Refusal {
  Diagnostic why;
  std::vector<RefusedPlace> places;
};

struct SlowPart {
  std::string what;                 // `nn.dense`, float16, a loop
  std::string reason;               // why that is slow
  std::vector<std::string> places;  // nodes of the model
};

struct Acceptance {
  std::vector<Refusal> refused;  // in the order of their first places; empty: it compiles
  std::vector<import::OnnxNode> not_looked_at;  // as they need what refused nodes were to give
  std::vector<Diagnostic> warnings;
  std::vector<SlowPart> slow;
  std::vector<PlacementRow> placement;
};

// As `compile` does it up to its kernels' sources; no library is made, and options.output is not
// looked at.
Acceptance check_acceptance(const CompileOptions& options);

}  // namespace tessera::driver
