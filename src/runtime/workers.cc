// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers.h"

#include <algorithm>
#include <climits>
#include <csignal>

#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/cpus.h"
#include "runtime/error.h"
#include "runtime/fork.h"

namespace tessera::runtime {
namespace {

constexpr std::uint32_t kOpen = 1u << 31;
// What a helper may hold back when its CPU is taken away is one piece; what a piece costs beside
// its work is an atomic increment.
constexpr std::int64_t kPiecesPerThread = 4;
// Turns of a loop with a pause each, tens of microseconds: about what waking a thread costs.
constexpr int kSpins = 1000;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

template <class F>
bool spin_until(const F& condition) {
  for (int i = 0; i < kSpins; ++i) {
    if (condition()) return true;
    pause_cpu();
  }
  return false;
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// The worker number of the piece that this thread is in, or -1 outside of loops.
thread_local std::int32_t current_worker = -1;

}  // namespace

struct Workers::Loop {
  const std::int64_t n, pieces;
  const tessera_range_fn fn;
  void* const closure;
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int32_t> status{0};

  // Takes pieces until none is left. They do not depend on who takes them: neither do results.
  void work(std::int32_t worker) {
    const std::int64_t base = n / pieces, longer = n % pieces;
    current_worker = worker;
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
      const std::int64_t begin = i * base + std::min(i, longer);
      const std::int32_t failed = fn(closure, begin, begin + base + (i < longer ? 1 : 0), worker);
      if (failed != 0) status.store(failed, std::memory_order_relaxed);
    }
    current_worker = -1;
  }
};

std::int32_t Workers::set_up(std::int32_t threads, const tessera_instance_options& options) {
  threads_ = threads;
  if (options.thread_pool != nullptr) pool_ = *options.thread_pool;
  nice_ = options.thread_nice;
  if (options.thread_cpu_count > 0) {
    has_affinity_ = true;
    CPU_ZERO(&affinity_);
    for (std::int32_t i = 0; i < options.thread_cpu_count; ++i) {
      CPU_SET(options.thread_cpus[i], &affinity_);
    }
  }
  return helpers_.allocate(static_cast<std::size_t>(threads - 1))
             ? std::int32_t{TESSERA_OK}
             : fail_out_of_memory("the table of threads");
}

std::int32_t Workers::run(std::int64_t n, tessera_range_fn fn, void* closure) {
  if (current_worker >= 0) return fn(closure, 0, n, current_worker);
  Loop loop{n, std::min(n, kPiecesPerThread * threads_), fn, closure};
  if (threads_ == 1 || loop.pieces == 1) {
    loop.work(0);
  } else if (pool_.run != nullptr) {
    pool_.run(pool_.context, static_cast<std::int32_t>(std::min<std::int64_t>(threads_, n)),
              run_by_pool, &loop);
  } else {
    run_with_helpers(loop);
  }
  return loop.status.load(std::memory_order_relaxed);
}

void Workers::run_with_helpers(Loop& loop) {
  forget_helpers_of_parent();
  start_helpers();
  if (started_ > 0) post(loop);
  loop.work(0);
  if (started_ > 0) close();
}

void Workers::run_by_pool(void* loop, std::int32_t index) { static_cast<Loop*>(loop)->work(index); }

// A child of fork has none of them, and nobody who could be in a loop.
void Workers::forget_helpers_of_parent() {
  if (forks_ == num_forks()) return;
  forks_ = num_forks();
  started_ = 0;
  are_started_ = false;
  gate_.store(0);
  sleepers_.store(0);
  is_caller_asleep_.store(false);
}

// As many as there are threads to use, and CPUs for them beside the caller's: helpers that wait for
// a CPU help nobody. Who names the CPUs knows. Fewer where the system gives no more.
void Workers::start_helpers() {
  if (are_started_) return;
  are_started_ = true;
  auto wanted = static_cast<std::int32_t>(helpers_.size());
  if (!has_affinity_) wanted = std::min(wanted, cpus_of_affinity() - 1);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for its own threads
  while (started_ < wanted) {
    Helper& helper = helpers_[static_cast<std::size_t>(started_)];
    helper = {this, started_ + 1, {}};
    if (pthread_create(&helper.thread, nullptr, helper_main, &helper) != 0) break;
    ++started_;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* Workers::helper_main(void* data) {
  const auto& helper = *static_cast<const Helper*>(data);
  helper.workers->help(helper.worker);
  return nullptr;
}

void Workers::help(std::int32_t worker) {
  pthread_setname_np(pthread_self(), "tessera");
  if (has_affinity_) pthread_setaffinity_np(pthread_self(), sizeof affinity_, &affinity_);
  if (nice_ != 0) {
    const auto id = static_cast<id_t>(syscall(SYS_gettid));
    setpriority(PRIO_PROCESS, id, getpriority(PRIO_PROCESS, id) + nice_);
  }
  while (!is_ending_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = posts_.load(std::memory_order_acquire);
    if (enter()) {
      loop_->work(worker);
      leave();
    }
    wait_for_post(seen);
  }
}

bool Workers::enter() {
  std::uint32_t gate = gate_.load(std::memory_order_acquire);
  while ((gate & kOpen) != 0) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void Workers::leave() {
  const bool was_last = gate_.fetch_sub(1) == 1;  // of a loop that is closed
  if (was_last && is_caller_asleep_.load()) futex_wake(gate_, 1);
}

void Workers::wait_for_post(std::uint32_t seen) {
  if (spin_until([&] { return posts_.load(std::memory_order_acquire) != seen; })) return;
  sleepers_.fetch_add(1);
  if (!is_ending_.load()) futex_wait(posts_, seen);
  sleepers_.fetch_sub(1);
}

void Workers::post(Loop& loop) {
  loop_ = &loop;
  gate_.store(kOpen, std::memory_order_release);
  posts_.fetch_add(1);
  if (sleepers_.load() == 0) return;
  futex_wake(posts_, static_cast<int>(std::min<std::int64_t>(started_, loop.pieces - 1)));
}

// Nobody enters any more; waits for those who are inside. They may need this thread's CPU.
void Workers::close() {
  gate_.fetch_and(~kOpen);
  if (spin_until([&] { return gate_.load(std::memory_order_acquire) == 0; })) return;
  is_caller_asleep_.store(true);
  for (std::uint32_t inside; (inside = gate_.load()) != 0;) futex_wait(gate_, inside);
  is_caller_asleep_.store(false);
}

void Workers::stop() {
  if (forks_ != num_forks()) return;
  is_ending_.store(true);
  posts_.fetch_add(1);
  futex_wake(posts_, INT_MAX);
  for (std::int32_t i = 0; i < started_; ++i) {
    pthread_join(helpers_[static_cast<std::size_t>(i)].thread, nullptr);
  }
  started_ = 0;
}

}  // namespace tessera::runtime

int32_t tessera_parallel_for(const tessera_call* call, int64_t n, tessera_range_fn fn,
                             void* closure) {
  if (n <= 0) return 0;
  auto* workers = static_cast<tessera::runtime::Workers*>(call->workers);
  return workers != nullptr ? workers->run(n, fn, closure) : fn(closure, 0, n, 0);
}
