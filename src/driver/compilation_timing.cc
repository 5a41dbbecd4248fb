// SPDX-License-Identifier: Apache-2.0
#include "driver/compilation_timing.h"

#include "types/target_list.h"

namespace tessera::driver {
namespace {

// Bytes of a model's weights that caches keep from one run to the next. Records must tell without
// the machine whether weights were read from its memory, so each is one number for all: what GPUs
// have at their second level, and what is left to two cores of a CPU whose last level all share,
// some of which others take within milliseconds.
constexpr std::uint64_t kMostOfGpuCaches = 64ULL << 20, kMostOfCpuCaches = 8ULL << 20;

}  // namespace

ProgramTiming timing_of_models(const CompileOptions& options) {
  constexpr double kWarmUp = 0.05, kSettle = 0.2;
  ProgramTiming how{.threads = options.threads, .silence_s = options.tuning.silence_s};
  if (compute_target(options.targets).device() != DeviceType::kCpu) {
    how.warm_up = kWarmUp;
    how.settle = kSettle;
    how.on_gpu = true;
  }
  return how;
}

// The first kernel of a run begins later than those that follow another.
ProgramTiming timing_of_parts(const CompileOptions& options, std::uint64_t model_bytes) {
  constexpr int kInARow = 8;
  ProgramTiming how = timing_of_models(options);
  how.largest_share = options.tuning.largest_share;
  if (how.on_gpu) how.repeats = kInARow;
  how.weights_of_memory = model_bytes > (how.on_gpu ? kMostOfGpuCaches : kMostOfCpuCaches);
  return how;
}

std::string how_timed(const CompileOptions& options, std::uint64_t model_bytes) {
  const ProgramTiming how = timing_of_parts(options, model_bytes);
  if (!how.on_gpu) return how.weights_of_memory ? "weights of memory" : "";
  return how.weights_of_memory ? "sustained, weights of memory" : "sustained";
}

}  // namespace tessera::driver
