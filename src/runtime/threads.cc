// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads.h"

#include <algorithm>
#include <atomic>

#include "runtime/gomp.h"
#include "tessera/call.h"

namespace tessera::runtime {
namespace {

struct Loop {
  std::int64_t n;
  tessera_range_fn fn;
  void* closure;
  std::atomic<std::int32_t> status;
};

// The worker number of the part that this thread is in, or -1 outside of parts.
thread_local std::int32_t current_worker = -1;

// One thread's part of the loop. OpenMP may have given fewer threads than asked for (nesting,
// limits), so the split follows what is there.
void run_part(void* data) {
  auto& loop = *static_cast<Loop*>(data);
  const std::int64_t parts = omp_get_num_threads();
  const std::int64_t part = omp_get_thread_num();
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

std::int32_t default_threads() { return std::max(1, omp_get_max_threads()); }

ThreadCount::ThreadCount(std::int32_t threads)
    : before_(omp_get_max_threads()), changed_(before_ != threads) {
  if (changed_) omp_set_num_threads(threads);
}

ThreadCount::~ThreadCount() {
  if (changed_) omp_set_num_threads(before_);
}

}  // namespace tessera::runtime

int32_t tessera_parallel_for(const tessera_call* call, int64_t n, tessera_range_fn fn,
                             void* closure) {
  using namespace tessera::runtime;
  if (n <= 0) return 0;
  if (current_worker >= 0) return fn(closure, 0, n, current_worker);
  const std::int64_t threads = std::min<std::int64_t>(call->threads, n);
  if (threads <= 1) return fn(closure, 0, n, 0);
  Loop loop{n, fn, closure, {0}};
  GOMP_parallel(run_part, &loop, static_cast<unsigned>(threads), 0);
  return loop.status.load(std::memory_order_relaxed);
}
