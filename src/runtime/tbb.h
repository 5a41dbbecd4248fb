// SPDX-License-Identifier: Apache-2.0
// An arena of oneTBB, where a vendor library in the process has its threads from it. Work in an
// arena is shared by at most as many threads as it has places, the calling one among them; that one
// does whatever no other thread has begun, so it never waits for a thread that has no CPU.
//
// What is declared here is the binary interface of libtbb.so.12, which oneTBB keeps since 2021
// (oneapi/tbb/task_arena.h): the functions are looked up where the library is loaded already, so
// that produced libraries do not depend on it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::runtime {

inline constexpr const char* kTbbFile = "libtbb.so.12";

class TbbArena {
 public:
  TbbArena() = default;
  TbbArena(const TbbArena&) = delete;
  TbbArena& operator=(const TbbArena&) = delete;
  ~TbbArena();

  // Calls work() in an arena of `threads` places; as it is, if that is 0 or nobody loaded oneTBB.
  template <class F>
  void run(std::int32_t threads, F&& work) {
    const auto call = [](void* data) { (*static_cast<F*>(data))(); };
    if (!execute(threads, call, &work)) work();
  }

 private:
  // tbb::detail::d1::task_arena_base
  struct Layout {
    std::intptr_t version_and_traits = 1;  // with the last two members
    std::atomic<int> initialization_state{0};
    std::atomic<void*> arena{nullptr};
    int max_concurrency = 0;
    unsigned num_reserved_slots = 1;
    int priority = INT32_MAX / 4 * 2;  // normal
    int numa_id = -1, core_type = -1, max_threads_per_core = -1;
  };

  // False: there was no oneTBB when it was asked for first.
  bool execute(std::int32_t threads, void (*work)(void* data), void* data);

  bool has_looked_ = false, is_there_ = false;
  Layout layout_;
};

}  // namespace tessera::runtime
