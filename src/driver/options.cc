// SPDX-License-Identifier: Apache-2.0
#include "driver/options.h"

#include <string_view>

#include "runtime/program.h"
#include "types/target_list.h"

namespace tessera::driver {

namespace {

// What the compiler takes without any -march, as the runtime and host programs are made.
std::string baseline() {
  const std::string_view arch = tessera_host_arch();
  return arch == "aarch64" ? "armv8-a" : std::string(arch);
}

}  // namespace

std::string_view to_string(Partition partition) {
  switch (partition) {
    case Partition::kNone:
      return "none";
    case Partition::kGreedy:
      return "greedy";
    case Partition::kCollage:
      break;
  }
  return "collage";
}

Target host_target(const std::vector<Target>& targets) {
  for (const Target& t : targets) {
    if (t.name() == "cpu") return t;
  }
  const bool on_cpu = compute_target(targets).device() == DeviceType::kCpu;
  return on_cpu ? Target() : Target().with("mcpu", baseline());
}

}  // namespace tessera::driver
