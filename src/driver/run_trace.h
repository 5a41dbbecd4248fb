// SPDX-License-Identifier: Apache-2.0
// The trace of `bench --trace`: runs as chrome://tracing and Perfetto read them.
#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "exec/session.h"

namespace tessera::driver {

// The host's clock from the call to its return, and the times of this run alone.
struct TracedRun {
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::vector<exec::KernelTime> kernels;
};

// A run has a span of the host. The kernels of a CPU lie in it, below spans of their back ends;
// those of a device lie so on a track of its stream. Spans come in the order of their begins on
// each track, those around others first.
nlohmann::ordered_json trace_json(const std::vector<TracedRun>& runs, bool is_on_device);

// Runs the session, which is bound, some more times with the clock on every kernel.
Result<nlohmann::ordered_json> trace_of_runs(exec::Session& session);

}  // namespace tessera::driver
