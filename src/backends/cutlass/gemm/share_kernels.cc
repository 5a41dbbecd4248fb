// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/gemm/share_kernels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "backends/cutlass/gemm/time_model.h"

namespace tessera::backends::cutlass {
namespace {

constexpr std::size_t kEnough = 3;
constexpr double kMostLoss = 0.1;

using Kernels = std::set<std::string>;

// The first of the candidates that is one of the kernels; there is one.
const Configuration* best_of(const Choice& choice, const Kernels& kernels) {
  for (const Configuration& c : choice.candidates) {
    if (kernels.contains(c.kernel_name())) return &c;
  }
  return nullptr;
}

// What the group takes in microseconds by these kernels alone; infinite if a product has none.
double time_of(std::span<Choice* const> group, const Kernels& kernels, const Device& device) {
  double time = 0;
  for (const Choice* choice : group) {
    const Configuration* c = best_of(*choice, kernels);
    if (c == nullptr) return std::numeric_limits<double>::infinity();
    time += estimated_microseconds(choice->gemm, *c, device);
  }
  return time;
}

void share_in(std::span<Choice* const> group, const Device& device) {
  Kernels kernels;
  for (const Choice* choice : group) kernels.insert(choice->chosen.kernel_name());
  const double fastest = time_of(group, kernels, device);
  while (kernels.size() > kEnough) {
    double least = std::numeric_limits<double>::infinity();
    Kernels fewer;
    for (const std::string& kernel : kernels) {
      Kernels rest = kernels;
      rest.erase(kernel);
      const double time = time_of(group, rest, device);
      if (time < least) least = time, fewer = std::move(rest);
    }
    if (least > fastest * (1 + kMostLoss)) return;
    kernels = std::move(fewer);
    for (Choice* choice : group) choice->chosen = *best_of(*choice, kernels);
  }
}

}  // namespace

void share_kernels(std::span<Choice> choices, const Device& device) {
  std::map<std::string, std::vector<Choice*>> groups;
  for (Choice& choice : choices) {
    if (!choice.is_measured) groups[choice.gemm.kernel_text()].push_back(&choice);
  }
  for (const auto& [text, group] : groups) share_in(group, device);
}

}  // namespace tessera::backends::cutlass
