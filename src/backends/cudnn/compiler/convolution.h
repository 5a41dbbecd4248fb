// SPDX-License-Identifier: Apache-2.0
// A composite as a convolution and what is done to each element of its result, in cuDNN's terms.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/cudnn/compiler/region.h"
#include "ops/records/layout.h"

namespace tessera::backends::cudnn {

// An operation on each element of what is before it, and of an operand if it has one.
struct Step {
  std::string mode;  // as runtime/operation_graph.cc names it
  std::optional<std::size_t> operand = {};
  std::map<std::string, double> numbers = {};
};

struct Convolution {
  // Each value once: image, weights, then what the steps read. Images are [N, C, H, W] and weights
  // [O, I, R, S], in whatever order they lie.
  std::vector<Operand> operands;
  ops::Window window;  // two axes
  std::vector<Step> steps;
  View result;
  DType dtype;                   // of all that is not in between
  bool tf32 = false;             // may float32 be multiplied so?
  bool runtime_engines = false;  // may cuDNN compile code for it?
};

// `nn.conv2d` or `nn.conv1d` of any number of groups, with channels last (NHWC by OHWI) or first
// (NCHW by OIHW), and operators after it. All sizes must be known.
Expected<Convolution, relay::Refusal> describe_convolution(const relay::Match& match,
                                                           const Target& target);

Region region_of(const Convolution& convolution);

}  // namespace tessera::backends::cudnn
