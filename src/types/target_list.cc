// SPDX-License-Identifier: Apache-2.0
#include "types/target_list.h"

#include <algorithm>
#include <set>

#include "types/gpu_arch.h"
#include "types/target_builder.h"

namespace tessera {
namespace {

Target following(Target target, const Target& machine) {
  for (const auto& [option, value] : machine.values()) {
    const TargetOption* own = target.kind().find_option(option);
    const TargetOption* its = machine.kind().find_option(option);
    if (own == nullptr || its == nullptr || value == its->default_value) continue;
    if (target.values().at(option) == own->default_value) target = target.with(option, value);
  }
  return target;
}

Target choose_host(const std::vector<Target>& targets) {
  for (const auto& target : targets) {
    if (target.host() != nullptr) return target.host()->without_host();
  }
  for (const auto& target : targets) {
    if (target.device() == DeviceType::kCpu && !target.is_external()) return target.without_host();
  }
  return Target("cpu");
}

// "80" of `-arch=sm_80`, "90" of `-arch=sm_90a`; "" where a kind has no architecture, or it is left
// open.
std::string arch_number(const Target& target) {
  if (target.kind().find_option("arch") == nullptr) return "";
  return std::string(gpu_arch_number(target.get_string("arch")));
}

// `cuda` beside `cutlass -sm=80`: of a machine of which nobody said the architecture, it is that of
// the first code generator that says one.
void follow_code(std::vector<ParsedTarget>& targets) {
  for (ParsedTarget& one : targets) {
    Target& machine = one.target;
    if (machine.kind().find_option("arch") == nullptr || one.given.contains("arch")) continue;
    const auto code = std::find_if(targets.begin(), targets.end(), [&](const ParsedTarget& other) {
      const bool says = other.given.contains("arch") || other.given.contains("sm");
      return says && other.target.is_external_for(machine) && !arch_number(other.target).empty();
    });
    if (code != targets.end()) machine = machine.with("arch", code->target.get_string("arch"));
  }
}

// The library says what it runs on as the machine's target has it.
void check_later_devices(const Target& machine, const Target& target, Diagnostics& problems) {
  const std::string &one = machine.get_string("arch"), &other = target.get_string("arch");
  const bool promises = machine.get_bool("ptx") && has_ptx_for_later(one);
  if (!promises || has_ptx_for_later(other)) return;
  problems.add(error(Code::kBadTarget, nullptr,
                     "target `{} -ptx` is for later devices too, which code of `{} -arch={}` does "
                     "not run on",
                     machine.name(), target.name(), other)
                   .with_remedy(fmt::format("give both -arch={}, or omit -ptx", one)));
}

// Code for another architecture would be found out by the first kernel that is launched.
void check_arch(const Target& machine, const Target& target, Diagnostics& problems) {
  const std::string one = arch_number(machine), other = arch_number(target);
  if (one.empty() || other.empty()) return;
  if (one == other) return check_later_devices(machine, target, problems);
  problems.add(error(Code::kBadTarget, nullptr,
                     "the targets `{}` and `{}` are for different architectures: {} and {}",
                     machine.name(), target.name(), machine.get_string("arch"),
                     target.get_string("arch"))
                   .with_remedy("give both the same -arch"));
}

// Each kind once; after the first target of a device only externals, and only after a machine.
Diagnostics check_list(const std::vector<Target>& targets) {
  Diagnostics problems;
  std::set<std::string_view> kinds;
  std::map<DeviceType, const Target*> first;
  for (const auto& target : targets) {
    if (!kinds.insert(target.name()).second) {
      problems.add(error(Code::kBadTarget, nullptr, "target kind `{}` is given more than once",
                         target.name())
                       .with_remedy("put all options into one target"));
      continue;
    }
    const auto [it, is_first] = first.emplace(target.device(), &target);
    if (!is_first) check_arch(*it->second, target, problems);
    if (is_first || target.is_external_for(*it->second)) continue;
    problems.add(error(Code::kBadTarget, nullptr,
                       "target `{}` cannot follow `{}` for the same device {}; the machine comes "
                       "first, external code generators after it",
                       target.name(), it->second->name(), to_string(target.device()))
                     .with_remedy(target.is_external()
                                      ? fmt::format("put `{}` first", to_string(target.device()))
                                      : fmt::format("put `{}` first", target.name())));
  }
  return problems;
}

DeviceType choose_device(const std::vector<Target>& targets) {
  const DeviceType first = targets.front().device();
  const bool alike = std::all_of(targets.begin(), targets.end(),
                                 [first](const Target& t) { return t.device() == first; });
  return alike ? first : DeviceType::kCpu;
}

}  // namespace

Target follow_machine(Target target, std::span<const Target> targets) {
  const auto machine = std::find_if(targets.begin(), targets.end(), [&](const Target& other) {
    return target.is_external_for(other);
  });
  return machine == targets.end() ? target : following(std::move(target), *machine);
}

Result<std::vector<Target>> parse_targets(std::span<const std::string> texts,
                                          std::string_view host) {
  std::vector<ParsedTarget> read;
  Diagnostics problems;
  for (const auto& text : texts) read_targets(text, read, problems);
  std::optional<Target> driver;
  if (!host.empty()) {
    auto parsed = parse_target(host);
    if (!parsed) {
      problems.add(std::move(parsed).error());
    } else if (!read.empty() && read.front().target.host() == nullptr) {
      driver = *std::move(parsed);
    }
  }
  if (!problems.empty()) return fail(std::move(problems));
  if (read.empty()) {
    return fail(error(Code::kBadTarget, nullptr, "at least one target is needed"));
  }
  follow_code(read);
  std::vector<Target> targets;
  for (ParsedTarget& one : read) {
    targets.push_back(driver ? one.target.with_host(*driver) : std::move(one.target));
  }
  for (Target& target : targets) target = follow_machine(target, targets);
  return targets;
}

const Target* CompilationTargets::find_device(DeviceType device) const {
  const auto it = std::find_if(primitive.begin(), primitive.end(),
                               [device](const Target& t) { return t.device() == device; });
  return it != primitive.end() ? &*it : nullptr;
}

const Target* CompilationTargets::homogeneous() const {
  return primitive.size() == 1 ? &primitive.front() : nullptr;
}

Result<CompilationTargets> resolve_targets(const std::vector<Target>& targets,
                                           std::optional<DeviceType> fallback_device) {
  if (targets.empty()) {
    return fail(error(Code::kBadTarget, nullptr, "at least one target is needed"));
  }
  if (auto problems = check_list(targets); !problems.empty()) return fail(std::move(problems));
  CompilationTargets resolved;
  resolved.host = choose_host(targets);
  resolved.default_device = fallback_device.value_or(choose_device(targets));
  for (const auto& target : targets) resolved.primitive.push_back(target.with_host(resolved.host));
  if (resolved.find_device(resolved.default_device) == nullptr) {
    return fail(error(Code::kBadTarget, nullptr, "no target is specified for the device {}",
                      to_string(resolved.default_device)));
  }
  return resolved;
}

Target compute_target(const std::vector<Target>& targets) {
  const auto machine = [&](DeviceType device) {
    return std::find_if(targets.begin(), targets.end(), [device](const Target& t) {
      return !t.is_external() && t.device() == device;
    });
  };
  if (const auto it = machine(DeviceType::kCuda); it != targets.end()) return *it;
  const auto cpu = machine(DeviceType::kCpu);
  return cpu != targets.end() ? *cpu : Target();
}

MemorySpace compute_space(const std::vector<Target>& targets) {
  return main_memory(compute_target(targets).device());
}

}  // namespace tessera
