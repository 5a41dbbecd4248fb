// SPDX-License-Identifier: Apache-2.0
#include "driver/entries.h"

namespace tessera::driver {

emit::ProgramInfo program_info_of_entries(const Target& cpu, const MachineCode& code) {
  emit::ProgramInfo info;
  info.build_id = "entries";
  info.target = short_text(cpu);
  info.cpu_arch = tessera_host_arch();
  info.cpu_features = code.cpu_features;
  return info;
}

Result<Module> lower_entries(Module module, const Target& cpu, emit::EntryPlans& plans,
                             schedule::MeasuredAlgorithms* measured) {
  TESSERA_TRY(module, lower_functions(std::move(module), cpu, "", measured));
  for (const auto& [name, f] : module.prim_funcs) {
    if (!f.is_host) continue;
    TESSERA_TRY(plans[name], plan::make_plan(f, module));
  }
  return module;
}

Result<EntryLibrary> EntryLibrary::build(Module module, const Target& cpu, const MachineCode& code,
                                         link::Toolchain& toolchain) {
  EntryLibrary entries;
  Lowered lowered;
  TESSERA_TRY(lowered.module,
              lower_entries(std::move(module), target_for(cpu, code), entries.plans_));
  TESSERA_TRY(lowered.plan.constants, plan::plan_constants(lowered.module, {}));
  TESSERA_TRY(
      entries.kernels_,
      KernelLibrary::load(std::move(lowered), program_info_of_entries(cpu, code), code, toolchain));
  return entries;
}

std::vector<std::string> EntryLibrary::names() const {
  std::vector<std::string> names;
  for (const auto& [name, plan] : plans_) names.push_back(name);
  return names;
}

Result<std::unique_ptr<exec::Session>> EntryLibrary::open(
    const std::string& entry, const exec::SessionOptions& options) const {
  return kernels_.open(entry, plans_.at(entry), options);
}

}  // namespace tessera::driver
