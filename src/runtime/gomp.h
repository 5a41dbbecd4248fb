// SPDX-License-Identifier: Apache-2.0
// libgomp, by the few functions that the runtime uses, for vendor libraries that have their threads
// from it. It is opened before the first of them.
//
// By default its threads spin for milliseconds at each barrier. That is of no use where another
// program has the CPU of the thread that they wait for, and is why one busy neighbour made a run
// many times slower. Where the process has not loaded libgomp before, and neither OMP_WAIT_POLICY
// nor GOMP_SPINCOUNT says otherwise, they spin for microseconds and then sleep.
#pragma once

namespace tessera::runtime {

struct Gomp {
  int (*max_threads)();
  void (*set_num_threads)(int num_threads);  // of the calling thread
};

// Opens libgomp.so.1 at the first call. Null where the system has none.
const Gomp* open_gomp();
// Null, too, as long as nobody has opened it.
const Gomp* opened_gomp();

}  // namespace tessera::runtime
