// SPDX-License-Identifier: Apache-2.0
// A compilation has a list of targets: one machine for each device, and the external code
// generators that may be used for it, in order of priority.
#pragma once

#include <optional>
#include <span>

#include "types/memory_space.h"
#include "types/target.h"

namespace tessera {

// Each text is a target, a JSON array of targets, or a JSON object of targets by device (the names
// of the devices are ignored). With a host, targets get it if the first one has none. At least one
// target is needed.
Result<std::vector<Target>> parse_targets(std::span<const std::string> texts,
                                          std::string_view host = {});

// A code generator that is not told its architecture, and other options that its machine among the
// targets has too, takes those of the machine. parse_targets does so.
Target follow_machine(Target target, std::span<const Target> targets);

// A list that follows the rules: each kind once; for a device the machine first and then external
// kinds for it (an external one alone is allowed); all with the same host.
struct CompilationTargets {
  Target host;  // the first host given, else the first cpu, else `cpu` with all defaults
  std::vector<Target> primitive;
  DeviceType default_device = DeviceType::kCpu;  // where operators go that nothing else places

  // The first target of the device; null if there is none.
  const Target* find_device(DeviceType device) const;
  // The one and only target, if there is but one.
  const Target* homogeneous() const;
};

// `fallback_device` overrides the choice of default_device: the only device, else the cpu.
Result<CompilationTargets> resolve_targets(
    const std::vector<Target>& targets, std::optional<DeviceType> fallback_device = std::nullopt);

// The machine that a model's kernels are for: the device if one is among the targets, else the cpu.
Target compute_target(const std::vector<Target>& targets);
// What they compute in: the main memory of that machine.
MemorySpace compute_space(const std::vector<Target>& targets);

}  // namespace tessera
