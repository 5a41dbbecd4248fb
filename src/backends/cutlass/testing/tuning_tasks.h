// SPDX-License-Identifier: Apache-2.0
// For tests: what there is to measure of a model.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cutlass/testing/models.h"

namespace tessera::backends::cutlass::testing {

inline std::vector<byoc::TuningTask> tasks_of(const std::string& text,
                                              const Target& target = Target("cutlass"),
                                              const std::map<std::string, Dim>& sizes = {}) {
  return cutlass_backend().tuning_tasks(placed(parse(text), target).module, target, sizes);
}

// The first candidate of each of so many kernels.
inline std::vector<std::size_t> first_of_kernels(const byoc::TuningTask& task, std::size_t count) {
  std::vector<std::size_t> numbers;
  std::set<std::string> kernels;
  for (std::size_t i = 0; i < task.candidates.size() && numbers.size() < count; ++i) {
    if (kernels.insert(task.candidates[i].kernel->name).second) numbers.push_back(i);
  }
  return numbers;
}

inline constexpr const char* kConvolutions = R"(
#[symbol n = 1..32 : 8]
def @main(%x: Tensor[(?n, 29, 28, 64), float16], %w: Tensor[(128, 3, 3, 64), float16],
          %b: Tensor[(128), float16], %v: Tensor[(128, 3, 3, 128), float16]) {
  %0 = nn.conv2d(%x, %w, strides=[2, 1], padding=[0, 1, 2, 1], data_layout="NHWC",
                 kernel_layout="OHWI");
  %1 = nn.relu(add(%0, %b));
  %2 = nn.conv2d(%1, %v, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="OHWI");
  %3 = nn.relu(add(%2, %b));
  %4 = nn.conv2d(%3, %v, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="OHWI");
  nn.relu(add(%4, %b))
})";

}  // namespace tessera::backends::cutlass::testing
