// SPDX-License-Identifier: Apache-2.0
#include "driver/pass_order.h"

#include <algorithm>

#include "driver/placement.h"
#include "types/fast_types.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using enum Stage;
using enum When;

constexpr PassStep kOrder[] = {
#define STEP(stage, pass, when, why) {stage, pass, when, why},
#include "driver/pass_order.def"
#undef STEP
};

bool has_gpu(const CompileOptions& options) {
  return std::any_of(options.targets.begin(), options.targets.end(),
                     [](const Target& t) { return !is_on_host(main_memory(t.device())); });
}

bool computes_on_gpu(const CompileOptions& options) {
  return !is_on_host(compute_space(options.targets));
}

bool is_taken(When when, const CompileOptions& options) {
  switch (when) {
    case kAlways:
      return true;
    case kUncheckedIndices:
      return options.unchecked_indices;
    case kWeights:
      return !options.weights.empty();
    case kIntegers:
      return has_gpu(options) && multiplies_integers(options);
    case kFloat8:
      return multiplies_float8(options);
    case kMixed:
      return multiplies_mixed_types(options);
    case kIntegersOnCpu:
      return !computes_on_gpu(options) && multiplies_widened_integers(options);
    case kIntegerPairs:
      return native_multiplies_integers(options);
    case kGpu:
      return has_gpu(options);
    case kComputesOnGpu:
      return computes_on_gpu(options);
    case kComputesOnCpu:
      return !computes_on_gpu(options);
    case kMatrixUnit:
      return !computes_on_gpu(options) && has_matrix_unit(compute_target(options.targets));
    case kFastProducts:
      return !computes_on_gpu(options) && !native_product_types(options).empty();
    case kWithoutFastProducts:
      return !computes_on_gpu(options) && native_product_types(options).empty();
  }
  return false;
}

std::string with_argument(std::string_view pass, std::string_view argument) {
  std::string text(pass);
  const std::size_t at = text.find('$');
  return at == std::string::npos ? text : text.replace(at, 1, argument);
}

}  // namespace

std::span<const PassStep> pass_order() { return kOrder; }

std::string pass_list(Stage stage, const CompileOptions& options, std::string_view argument) {
  std::string list;
  for (const PassStep& step : kOrder) {
    if (step.stage != stage || !is_taken(step.when, options)) continue;
    list += (list.empty() ? "" : ",") + with_argument(step.pass, argument);
  }
  return list;
}

}  // namespace tessera::driver
