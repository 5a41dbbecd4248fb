// SPDX-License-Identifier: Apache-2.0
// Times ways to compute the same on a device, each checked first, as docs/tuning.md says: launches
// in replayed graphs, under steady load, in rotating turns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "byoc/tuning_task.h"
#include "contest/device.h"

namespace tessera::contest {

// What all ways compute, on operands that lie in the device's memory.
class Work {
 public:
  virtual ~Work() = default;
  // Their configurations, as records have them; the first is what is taken without records.
  virtual const std::vector<std::string>& ways() const = 0;
  // Sets of weights that launches take in turn: see `cold_copies`.
  virtual std::int64_t turns() const { return 1; }
  // Puts one launch into the device's stream; why it cannot, or "".
  virtual std::string launch(std::size_t way, std::int64_t turn) = 0;
  // Makes the result one that is wrong; then, of what turn 0 left there, what is wrong or "". That
  // begins with "it computes wrong numbers"; *fault is what the device says, which is then of no
  // use to this process any more.
  virtual void spoil() = 0;
  virtual std::string mistake(std::string* fault) = 0;
};

// How many copies of weights take turns, so that each comes from memory: over twice the cache of
// the GPUs of today.
std::int64_t cold_copies(std::uint64_t bytes);

// Ends the process, without blame for others, where a way spoils the device.
void run_contest(Device& device, Work& work, const byoc::Search& search,
                 byoc::SearchReport& report);

}  // namespace tessera::contest
