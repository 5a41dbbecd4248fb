// SPDX-License-Identifier: Apache-2.0
// The number of threads is an option of the instance; vendor libraries take theirs from OpenMP's
// setting of the calling thread.
#pragma once

#include <cstdint>

namespace tessera::runtime {

// OMP_NUM_THREADS, or what the program told its OpenMP; else the CPUs that the process may use
// (runtime/cpus.h).
std::int32_t default_threads();

// Sets the calling thread's number of OpenMP threads, and restores it. Nothing is to be set as long
// as nobody has opened libgomp.
class ThreadCount {
 public:
  explicit ThreadCount(std::int32_t threads);  // 0: leaves it
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;
  ~ThreadCount();

 private:
  std::int32_t before_ = 0;  // 0: it was not changed
};

}  // namespace tessera::runtime
