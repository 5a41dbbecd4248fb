// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>

#include "runtime/cpus.h"
#include "runtime/gomp.h"
#include "tessera/call.h"

namespace tessera::runtime {
namespace {

struct Loop {
  std::int64_t n;
  tessera_range_fn fn;
  void* closure;
  const Gomp* gomp;
  std::atomic<std::int32_t> status;
};

// The worker number of the part that this thread is in, or -1 outside of parts.
thread_local std::int32_t current_worker = -1;

// One thread's part of the loop. OpenMP may have given fewer threads than asked for (nesting,
// limits), so the split follows what is there.
void run_part(void* data) {
  auto& loop = *static_cast<Loop*>(data);
  const std::int64_t parts = loop.gomp->num_threads();
  const std::int64_t part = loop.gomp->thread_num();
  const std::int64_t base = loop.n / parts, longer = loop.n % parts;
  const std::int64_t begin = part * base + std::min(part, longer);
  const std::int64_t end = begin + base + (part < longer ? 1 : 0);
  if (begin == end) return;
  current_worker = static_cast<std::int32_t>(part);
  const std::int32_t status = loop.fn(loop.closure, begin, end, current_worker);
  current_worker = -1;
  if (status != 0) loop.status.store(status, std::memory_order_relaxed);
}

}  // namespace

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

ThreadCount::ThreadCount(std::int32_t threads) {
  const Gomp* gomp = threads > 0 ? opened_gomp() : nullptr;
  if (gomp == nullptr) return;
  const std::int32_t before = gomp->max_threads();
  if (before == threads) return;
  gomp->set_num_threads(threads);
  before_ = before;
}

ThreadCount::~ThreadCount() {
  if (before_ > 0) opened_gomp()->set_num_threads(before_);
}

}  // namespace tessera::runtime

int32_t tessera_parallel_for(const tessera_call* call, int64_t n, tessera_range_fn fn,
                             void* closure) {
  using namespace tessera::runtime;
  if (n <= 0) return 0;
  if (current_worker >= 0) return fn(closure, 0, n, current_worker);
  const std::int64_t threads = std::min<std::int64_t>(call->threads, n);
  const Gomp* gomp = threads > 1 ? open_gomp() : nullptr;
  if (gomp == nullptr) return fn(closure, 0, n, 0);
  Loop loop{n, fn, closure, gomp, {0}};
  gomp->parallel(run_part, &loop, static_cast<unsigned>(threads), 0);
  return loop.status.load(std::memory_order_relaxed);
}
