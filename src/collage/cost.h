// SPDX-License-Identifier: Apache-2.0
// What running a candidate takes: seconds, not possible with a reason, or not known yet (relay-spec
// 9.8).
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::collage {

class Cost {
 public:
  Cost() = default;  // unknown
  static Cost of(double seconds) { return Cost(seconds, {}); }
  static Cost invalid(std::string why) {
    return Cost(std::numeric_limits<double>::infinity(), std::move(why));
  }

  // Of what is taken for want of another way: nothing. `why`: what it does cost is not known.
  static Cost unpriced(std::string why) { return Cost(0, std::move(why)); }

  bool is_known() const { return !std::isnan(seconds_); }
  bool is_invalid() const { return std::isinf(seconds_); }
  // Infinite for what is invalid, not a number for what is unknown: sums follow from that.
  double seconds() const { return seconds_; }
  // Of what has no price, too.
  const std::string& why_invalid() const { return why_; }

  friend Cost operator+(const Cost& a, const Cost& b) {
    return Cost(a.seconds_ + b.seconds_, a.is_invalid() || b.why_.empty() ? a.why_ : b.why_);
  }

 private:
  Cost(double seconds, std::string why) : seconds_(seconds), why_(std::move(why)) {}
  double seconds_ = std::numeric_limits<double>::quiet_NaN();
  std::string why_;
};

// `invalid`, `unknown`, `0`, or microseconds: `1500.000000us`.
std::string to_string(const Cost& cost);

// A candidate as a program: `main` takes and gives tensors, and calls what goes to a back end as
// functions of the module.
struct CandidateProgram {
  const Module& module;
  const Target& target;
};

// Where costs come from. Programs that are structurally equal are asked for once
// (candidate_costs.h).
class CostEstimator {
 public:
  virtual ~CostEstimator() = default;
  // Fails for what ends the whole search; what cannot run is an invalid cost.
  virtual Result<Cost> estimate(const CandidateProgram& program) = 0;
  // Of each of them: who measures builds them together.
  virtual Result<std::vector<Cost>> estimate_all(std::span<const CandidateProgram> programs);
};

}  // namespace tessera::collage
