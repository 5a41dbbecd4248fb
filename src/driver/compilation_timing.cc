// SPDX-License-Identifier: Apache-2.0
#include "driver/compilation_timing.h"

#include "types/target_list.h"

namespace tessera::driver {

// A device that does nothing for a while slows down.
ProgramTiming timing_of_models(const CompileOptions& options) {
  constexpr double kWarmUp = 0.05;
  ProgramTiming how{.threads = options.threads, .silence_s = options.tuning.silence_s};
  if (compute_target(options.targets).device() != DeviceType::kCpu) {
    how.warm_up = kWarmUp;
    how.on_gpu = true;
  }
  return how;
}

// The first kernel of a run begins later than those that follow another; what the host's caches
// hold is nothing to a device.
ProgramTiming timing_of_parts(const CompileOptions& options, std::uint64_t model_bytes) {
  constexpr int kInARow = 8;
  ProgramTiming how = timing_of_models(options);
  how.largest_share = options.tuning.largest_share;
  if (how.on_gpu) {
    how.repeats = kInARow;
  } else {
    how.model_bytes = model_bytes;
  }
  return how;
}

}  // namespace tessera::driver
