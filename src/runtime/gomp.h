// SPDX-License-Identifier: Apache-2.0
// libgomp, by the few functions that the runtime uses. It is opened when it is first needed: for a
// run with several threads, or before a vendor library that has its threads from it. Two OpenMP run
// times in a process would fight over the CPUs, so generated loops use the same threads.
//
// By default its threads spin for milliseconds at each barrier. That is of no use where another
// program has the CPU of the thread that they wait for, and is why one busy neighbour made a run
// many times slower. Where the process has not loaded libgomp before, and neither OMP_WAIT_POLICY
// nor GOMP_SPINCOUNT says otherwise, they spin for microseconds and then sleep.
#pragma once

namespace tessera::runtime {

struct Gomp {
  void (*parallel)(void (*fn)(void*), void* data, unsigned num_threads, unsigned flags);
  int (*max_threads)();
  void (*set_num_threads)(int num_threads);  // of the calling thread
  int (*thread_num)();
  int (*num_threads)();
};

// Opens libgomp.so.1 at the first call. Null where the system has none.
const Gomp* open_gomp();
// Null, too, as long as nobody has opened it.
const Gomp* opened_gomp();

}  // namespace tessera::runtime
