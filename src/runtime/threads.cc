// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "runtime/cpus.h"
#include "runtime/gomp.h"

namespace tessera::runtime {
namespace {

// What the program or its user decided; 0: nothing.
std::int32_t threads_asked_for(std::int32_t cpus) {
  if (const Gomp* gomp = opened_gomp()) {
    const std::int32_t threads = gomp->max_threads();
    return threads == cpus ? 0 : threads;
  }
  const char* text = std::getenv("OMP_NUM_THREADS");  // "4", or "4,2" for nested loops
  if (text == nullptr) return 0;
  const long threads = std::strtol(text, nullptr, 10);
  return threads > 0 ? static_cast<std::int32_t>(std::min<long>(threads, INT_MAX)) : 0;
}

}  // namespace

std::int32_t default_threads() {
  const std::int32_t cpus = cpus_of_affinity(), asked = threads_asked_for(cpus);
  if (asked > 0) return asked;
  const std::int32_t quota = cpus_of_quota();
  return quota > 0 ? std::min(quota, cpus) : cpus;
}

}  // namespace tessera::runtime
