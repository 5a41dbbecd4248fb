// SPDX-License-Identifier: Apache-2.0
#include "running.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <nanobind/nanobind.h>

#include "model.h"

namespace nb = nanobind;

namespace tessera::python {
namespace {

std::atomic<bool> stopped = false;
std::atomic<int> running = 0;
std::thread::id ends_it;  // written before `stopped`

// No exception either: its translation runs Python. The process ends soon.
[[noreturn]] void wait_for_the_end() {
  PyEval_SaveThread();
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

Running::Running() {
  if (stopped) {
    if (std::this_thread::get_id() != ends_it) wait_for_the_end();
    throw CallFailed(TESSERA_BUSY, "the interpreter is about to end");
  }
  ++running;
}

Running::~Running() { --running; }

void stop_running() {
  ends_it = std::this_thread::get_id();
  stopped = true;
  const nb::gil_scoped_release unlocked;  // which those that come back need
  while (running > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace tessera::python
