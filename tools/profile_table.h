// SPDX-License-Identifier: Apache-2.0
// The table of `bench --profile`: where a run's time goes, and how far that is from what the
// machine can do.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "exec/session.h"
#include "tools/roof.h"

namespace tessera::tools {

// All calls of a kernel in a run. What depends on sizes that the inputs do not say is not known.
struct ProfileRow {
  std::string kernel, backend;
  double calls = 0, us = 0;     // of a run
  std::optional<double> flops;  // of these calls
  std::optional<double> bytes;
  bool is_narrow = false;  // products as exact as those of 16 bits
  std::string note = {};   // what its back end has to say; "": nothing
};

struct Profile {
  std::vector<ProfileRow> rows;  // the longest first
  int threads = 0;               // 0: on a device
  std::optional<Roof> roof;      // nothing for a library on a device that cannot measure it
};

// Runs the session, which is bound to `inputs`, some more times with the clock on every kernel.
Result<Profile> measure_profile(exec::Session& session, std::span<const Tensor> inputs);

// How much of its time a row would take at the roof; nothing where that is not known.
std::optional<double> part_of_roof(const ProfileRow& row, const Profile& profile);
// Marked are those that take more than five times as long as at the roof.
std::string profile_table(const Profile& profile);
nlohmann::ordered_json profile_json(const Profile& profile);

}  // namespace tessera::tools
