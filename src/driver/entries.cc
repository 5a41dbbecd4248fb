// SPDX-License-Identifier: Apache-2.0
#include "driver/entries.h"

#include "driver/build.h"
#include "driver/placement.h"
#include "exec/host_interpreter.h"

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
  TESSERA_TRY(const link::LinkInput input,
              build_objects(lowered, program_info(cpu, code), emit::ProgramKind::kKernelLibrary,
                            code, toolchain));
  TESSERA_TRY(const std::string image, link::link_image(toolchain, input));
  TESSERA_TRY(entries.library_, link::LoadedLibrary::load(image));
  entries.program_ =
      static_cast<const tessera_program*>(entries.library_->symbol("tessera_model_program"));
  TESSERA_CHECK(entries.program_ != nullptr, "the kernel library has no program");
  entries.module_ = std::make_shared<const Module>(std::move(lowered.module));
  return entries;
}

std::vector<std::string> EntryLibrary::names() const {
  std::vector<std::string> names;
  for (const auto& [name, plan] : plans_) names.push_back(name);
  return names;
}

Result<std::unique_ptr<exec::Session>> EntryLibrary::open(
    const std::string& entry, const exec::SessionOptions& options) const {
  auto interpreter = std::make_shared<exec::HostInterpreter>(module_, plans_.at(entry), *program_,
                                                             library_, entry);
  const tessera_program& program = interpreter->program();
  return exec::Session::open_program(program, interpreter, vendor_library_folder(), options);
}

}  // namespace tessera::driver
