// SPDX-License-Identifier: Apache-2.0
// About how long work still takes, from how fast it was seen to get on.
#pragma once

#include <limits>
#include <optional>

namespace tessera {

class TimeLeft {
 public:
  // For work that ends `limit_s` seconds after the clock's zero at the latest, however far it is.
  explicit TimeLeft(double limit_s = std::numeric_limits<double>::infinity()) : limit_s_(limit_s) {}

  // Seconds, where `share` of the work is done, 0 to 1, and the clock is at `now_s`. Nothing while
  // too little was seen. What came before the first share may have been other work, and is not
  // counted; a share that falls begins new work.
  std::optional<double> seen(double share, double now_s);

 private:
  struct Seen {
    double share, now_s;
  };
  double limit_s_;
  std::optional<Seen> first_;
  double last_share_ = 0;
};

}  // namespace tessera
