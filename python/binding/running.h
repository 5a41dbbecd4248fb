// SPDX-License-Identifier: Apache-2.0
// The end of the interpreter, with threads that are still in here.
#pragma once

namespace tessera::python {

// When the interpreter has ended, a thread that asks for its lock ends there, which no destructor
// of an object of Python survives. So whatever gives the lock back in between stands within one of
// these, for which the end waits (nanobind's call_guard). Once the end has begun, other threads
// get no further than here; the one that ends the interpreter gets TESSERA_BUSY.
class Running {
 public:
  Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();
};

// Called by the thread that ends the interpreter: waits for all that run.
void stop_running();

}  // namespace tessera::python
