// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_library.h"

#include "driver/vendor_libraries.h"

namespace tessera::driver {

Result<KernelLibrary> KernelLibrary::load(Lowered lowered, const emit::ProgramInfo& info,
                                          const MachineCode& code, link::Toolchain& toolchain) {
  TESSERA_TRY(const link::LinkInput input,
              build_objects(lowered, info, emit::ProgramKind::kKernelLibrary, code, toolchain));
  TESSERA_TRY(const std::string image, link::link_image(toolchain, input));
  KernelLibrary loaded;
  TESSERA_TRY(loaded.library_, link::LoadedLibrary::load(image));
  loaded.program_ =
      static_cast<const tessera_program*>(loaded.library_->symbol("tessera_model_program"));
  TESSERA_CHECK(loaded.program_ != nullptr, "the kernel library has no program");
  loaded.module_ = std::make_shared<const Module>(std::move(lowered.module));
  loaded.main_plan_ = std::move(lowered.plan);
  loaded.metadata_ = info.metadata_json;
  return loaded;
}

Result<std::unique_ptr<exec::Session>> KernelLibrary::open(const std::string& entry,
                                                           plan::MemoryPlan plan,
                                                           const exec::SessionOptions& options,
                                                           exec::CallObserver observer) const {
  auto interpreter =
      std::make_shared<exec::HostInterpreter>(module_, std::move(plan), *program_, library_, entry);
  interpreter->observe(std::move(observer));
  const tessera_program& program = interpreter->program();
  return exec::Session::open_program(program, interpreter, vendor_library_folders(*module_),
                                     metadata_, options);
}

}  // namespace tessera::driver
