// SPDX-License-Identifier: Apache-2.0
// A composite as a convolution and what is done to each element of its result, in cuDNN's terms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/records/layout.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::backends::cudnn {

// How cuDNN sees a tensor: images [N, C, H, W] and weights [O, I, R, S], in whatever order they
// lie. What is repeated along a dimension is one along it.
struct View {
  std::vector<std::int64_t> dims, strides;
  bool operator==(const View&) const = default;
};

struct Operand {
  relay::NodeId value;
  DType dtype;
  View view;
};

// An operation on each element of what is before it, and of an operand if it has one.
struct Step {
  std::string mode;  // as runtime/operation_graph.cc names it
  std::optional<std::size_t> operand = {};
  std::map<std::string, double> numbers = {};
};

struct Convolution {
  std::vector<Operand> operands;  // each value once: image, weights, then what the steps read
  ops::Window window;             // two axes
  std::vector<Step> steps;
  View result;
  DType dtype;                   // of all that is not in between
  bool tf32 = false;             // may float32 be multiplied so?
  bool runtime_engines = false;  // may cuDNN compile code for it?

  std::string sizes_text() const;  // "8x64x56x56 by 64x64x3x3 strides 1x1"
  std::string workload() const;    // all that plans depend on: equal text, equal work
};

// `nn.conv2d` or `nn.conv1d` of any number of groups, with channels last (NHWC by OHWI) or first
// (NCHW by OIHW), and operators after it. All sizes must be known.
Expected<Convolution, relay::Refusal> describe(const relay::Match& match, const Target& target);

}  // namespace tessera::backends::cudnn
