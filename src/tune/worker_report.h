// SPDX-License-Identifier: Apache-2.0
// What a measuring program prints, and a search (byoc/tuning_task.h), line by line, I being the
// number of a candidate:
//   found I TEXT             of a search, before all else of I: the text of the configuration
//   begin I                  a step with it begins
//   wrong I TEXT             it cannot be used, and why
//   failed I TEXT            the same, and the process ends: the device is of no use to it any more
//   hangs                    the one begun last took too long, and the process ends
//   time I MEDIAN SPREAD     microseconds, at the end
//   done
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::tune {

struct Measured {
  double time_us = 0, spread_us = 0;
  std::string failure;  // "": it has a time

  friend bool operator==(const Measured&, const Measured&) = default;
};

struct WorkerReport {
  std::map<std::size_t, std::string> found;  // configurations, by number
  std::map<std::size_t, Measured> measured;  // by number
  std::optional<std::size_t> begun;          // the last one
  bool is_done = false;
};

// The lines, as programs of ours print them.
std::string found_line(std::size_t candidate, std::string_view configuration);
std::string begin_line(std::size_t candidate);
std::string line_of(std::size_t candidate, const Measured& measured);  // `time` or `wrong`
constexpr std::string_view kDoneLine = "done\n";

// Lines that are none of these are what the kernels print, and are passed over; so is a last line
// that was cut off.
WorkerReport parse_worker_report(std::string_view output);

}  // namespace tessera::tune
