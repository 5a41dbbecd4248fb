// SPDX-License-Identifier: Apache-2.0
#include "driver/entries.h"

#include "driver/dimensions.h"

namespace tessera::driver {
namespace {

emit::ProgramInfo program_info(const Target& cpu, const MachineCode& code) {
  emit::ProgramInfo info;
  info.build_id = "entries";  // nothing is exported
  info.target = short_text(cpu);
  info.cpu_arch = tessera_host_arch();
  info.cpu_features = code.cpu_features;
  return info;
}

}  // namespace

Result<EntryLibrary> EntryLibrary::build(Module module, const Target& cpu, const MachineCode& code,
                                         link::Toolchain& toolchain) {
  EntryLibrary entries;
  Lowered lowered;
  TESSERA_TRY(lowered.module, lower_functions(std::move(module), cpu, ""));
  for (const auto& [name, f] : lowered.module.prim_funcs) {
    if (!f.is_host) continue;
    TESSERA_TRY(entries.plans_[name], plan::plan_memory(f, lowered.module));
  }
  TESSERA_TRY(entries.kernels_,
              KernelLibrary::load(std::move(lowered), program_info(cpu, code), code, toolchain));
  return entries;
}

std::vector<std::string> EntryLibrary::names() const {
  std::vector<std::string> names;
  for (const auto& [name, plan] : plans_) names.push_back(name);
  return names;
}

std::vector<std::vector<std::int64_t>> EntryLibrary::likely_shapes(const std::string& entry) const {
  const Module& module = kernels_.module();
  return likely_input_shapes(module.prim_funcs.at(entry), module.symbols);
}

Result<std::unique_ptr<exec::Session>> EntryLibrary::open(
    const std::string& entry, const exec::SessionOptions& options) const {
  return kernels_.open(entry, plans_.at(entry), options);
}

}  // namespace tessera::driver
