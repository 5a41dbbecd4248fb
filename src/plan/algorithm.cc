// SPDX-License-Identifier: Apache-2.0
#include "plan/algorithm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::plan {

#define ALGORITHM(name) extern const Algorithm name;
#include "plan/algorithms.def"
#undef ALGORITHM

std::span<const Algorithm* const> algorithms() {
  static constexpr const Algorithm* kAlgorithms[] = {
#define ALGORITHM(name) &name,
#include "plan/algorithms.def"
#undef ALGORITHM
  };
  return kAlgorithms;
}

std::string algorithm_names() {
  std::vector<std::string_view> names;
  for (const Algorithm* algorithm : algorithms()) names.push_back(algorithm->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<const Algorithm*> find_algorithm(std::string_view name) {
  if (name.empty()) return algorithms().front();
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->name == name) return algorithm;
  }
  return fail(error(Code::kBadOption, {}, "`{}` is no algorithm that plans memory", name)
                  .with_remedy(fmt::format("choose one of {}", algorithm_names())));
}

}  // namespace tessera::plan
