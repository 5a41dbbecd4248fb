// SPDX-License-Identifier: Apache-2.0
#include "support/time_left.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kLeastShare = 0.05, kLeastSeconds = 0.5;

}  // namespace

std::optional<double> TimeLeft::seen(double share, double now_s) {
  if (!first_ || share < last_share_) first_ = {share, now_s};
  last_share_ = share;
  const double done = share - first_->share, took_s = now_s - first_->now_s;
  if (done < kLeastShare || took_s < kLeastSeconds) return std::nullopt;
  return std::clamp((1 - share) * took_s / done, 0.0, std::max(limit_s_ - now_s, 0.0));
}

}  // namespace tessera
