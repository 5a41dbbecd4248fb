// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work on a few threads.
#pragma once

#include <cstddef>
#include <functional>

namespace tessera {

// Calls job(0) .. job(count - 1), each once, on at most `threads` threads (the caller's among
// them), in order of start. If some throw, no further ones start, and the exception of the lowest
// index is rethrown when all that run have ended.
void run_jobs(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& job);

}  // namespace tessera
