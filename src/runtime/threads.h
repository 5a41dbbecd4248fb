// SPDX-License-Identifier: Apache-2.0
// The number of threads is an option of the instance; vendor libraries take theirs from OpenMP's
// setting of the calling thread.
#pragma once

#include <cstdint>

namespace tessera::runtime {

// As many threads as OpenMP would use: OMP_NUM_THREADS, else the CPUs that the process may run on.
std::int32_t default_threads();

// Sets the calling thread's number of OpenMP threads, and restores it.
class ThreadCount {
 public:
  explicit ThreadCount(std::int32_t threads);
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;
  ~ThreadCount();

 private:
  std::int32_t before_;
  bool changed_;
};

}  // namespace tessera::runtime
