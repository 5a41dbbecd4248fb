// SPDX-License-Identifier: Apache-2.0
// A process that forks has one thread, and OpenMP believes that this thread's helpers still exist:
// a parallel loop would wait for them for ever. In such a child, where libgomp was opened, what
// needs several threads is done by a thread of its own, for which OpenMP makes new helpers.
#pragma once

#include <cstdint>

#include "runtime/error.h"
#include "runtime/gomp.h"

namespace tessera::runtime {

// Has this process be told of forks, from now on. May be called any number of times.
void watch_forks();

// How many forks lie between this process and the one that loaded the library.
std::uint32_t num_forks();

// While somebody holds it no other thread forks: a child never finds it locked.
class ForkLock {
 public:
  ForkLock();
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;
  ~ForkLock();
};

// Is the calling thread the one that came through a fork, without its helpers?
bool lacks_helpers();

// Calls work(data) in the thread that has new ones; its status, with its sentence.
std::int32_t run_with_helpers(std::int32_t (*work)(void* data), void* data);

// Calls work(), wherever `threads` threads can run.
template <class F>
std::int32_t with_threads(std::int32_t threads, const F& work) {
  if (threads <= 1 || opened_gomp() == nullptr || !lacks_helpers()) return work();
  return run_with_helpers(
      [](void* data) -> std::int32_t { return (*static_cast<const F*>(data))(); },
      const_cast<F*>(&work));
}

}  // namespace tessera::runtime
