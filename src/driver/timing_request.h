// SPDX-License-Identifier: Apache-2.0
// What a measuring process is asked for, as text both ways: JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/program_timing.h"

namespace tessera::driver {

struct TimingRequest {
  std::vector<TimedProgram> programs;
  std::vector<std::size_t> left;  // which of them
  ProgramTiming how;
  std::optional<Turns> turns;  // nothing: each by itself
};

std::string to_text(const TimingRequest& request);
Result<TimingRequest> parse_timing_request(const std::string& text);

}  // namespace tessera::driver
