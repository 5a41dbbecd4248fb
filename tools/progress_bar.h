// SPDX-License-Identifier: Apache-2.0
// How far long work has come and about how long it will take: a bar that is redrawn on a terminal,
// now and then a plain line elsewhere; both on standard error.
#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "support/time_left.h"

namespace tessera::tools {

class ProgressBar {
 public:
  // The work ends `limit_s` seconds from now at the latest.
  explicit ProgressBar(std::string what, double limit_s = std::numeric_limits<double>::infinity());
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }

  // `share` of the work is done, 0 to 1. Writes only where the last time was a while ago; plain
  // lines not before the work has taken a while.
  void show(double share);
  // Takes the bar off the terminal, so that other lines can follow.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool on_terminal_, is_drawn_ = false;
  Clock::time_point begin_;
  std::optional<Clock::time_point> next_;
  TimeLeft left_;
};

}  // namespace tessera::tools
