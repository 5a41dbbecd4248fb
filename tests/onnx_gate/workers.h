// SPDX-License-Identifier: Apache-2.0
// Work in forked processes: what crashes or hangs is one result more, not the end.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace tessera::onnx_gate {

// Calls work(0), ..., work(count - 1) in `jobs` processes, and done(i, text) here with what work(i)
// returned, or with `crash: ...` where its process died, `hang: ...` where it took longer than the
// limit.
void run_in_workers(std::size_t count, std::size_t jobs, unsigned seconds_each,
                    const std::function<std::string(std::size_t)>& work,
                    const std::function<void(std::size_t, const std::string&)>& done);

}  // namespace tessera::onnx_gate
