// SPDX-License-Identifier: Apache-2.0
// Hostile models are compiled in a process of their own, with little time and memory, and as many
// as the environment says:
//   TESSERA_FUZZ_SECONDS   time for a test (5 without it)
//   TESSERA_FUZZ_MODELS    as many models instead, whatever the time
//   TESSERA_FUZZ_SEED      the run to repeat; without it the day's number
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "diagnostics/diagnostic.h"

namespace tessera::model_fuzz {

// As exit statuses; 1 is that of a sanitizer's finding.
enum Outcome : int { kCompiled = 0, kRefused = 10, kInternalError = 11, kOtherException = 12 };

// Refused, if every error says what is wrong.
int outcome_of(const Diagnostics& errors);

// "" or what went wrong; counts what is "compiled" and "refused".
std::string run_apart(const std::function<int()>& compile, std::map<std::string, int>& counts);

class Budget {
 public:
  Budget();
  std::uint64_t seed() const { return seed_; }
  // The seed of a model's own.
  std::uint64_t seed_of(std::uint64_t n) const { return seed_ * 1000003 + n; }
  bool has(std::uint64_t n) const;

 private:
  std::uint64_t seed_, models_;
  std::chrono::steady_clock::time_point end_;
};

// Where a model lies while it is compiled, and stays if that goes wrong: "SEED-N" and the ending.
std::string path_of(const Budget& budget, std::uint64_t n, const std::string& ending);

}  // namespace tessera::model_fuzz
