// SPDX-License-Identifier: Apache-2.0
// How long runs of a session take, as one that follows other work does.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/session.h"

namespace tessera::driver {

// Bytes that are read between two runs, so that weights are where a model of this size leaves them:
// no more than caches hold.
class CacheFiller {
 public:
  explicit CacheFiller(std::uint64_t model_bytes);
  void fill();

 private:
  std::vector<std::uint64_t> bytes_;
  std::uint64_t sum_ = 0;
};

struct TimingLimits {
  int fewest = 3, most = 20;
  double seconds = 0.2;  // of runs, whichever ends first
};

// Seconds of each run of a session whose inputs are bound: on a device its own time, else the
// caller's. One run before them is not counted.
Result<std::vector<double>> time_runs(exec::Session& session, const TimingLimits& limits,
                                      CacheFiller& filler);

struct Quartiles {
  double median = 0, spread = 0;  // between the first and the third
};
Quartiles quartiles(std::vector<double> seconds);

}  // namespace tessera::driver
