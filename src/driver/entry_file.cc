// SPDX-License-Identifier: Apache-2.0
#include "driver/entry_file.h"

#include "driver/dimensions.h"
#include "driver/entries.h"
#include "driver/vendor_libraries.h"
#include "link/temporary_folder.h"

namespace tessera::driver {

Result<EntryFile> EntryFile::build(Module module, const Target& cpu, const MachineCode& code,
                                   link::Toolchain& toolchain,
                                   schedule::MeasuredAlgorithms* measured) {
  TESSERA_TRY(TempDir folder, link::temporary_folder("tessera-entries-"));
  EntryFile file(std::move(folder));
  emit::EntryPlans plans;
  TESSERA_TRY(module, lower_entries(std::move(module), target_for(cpu, code), plans, measured));
  TESSERA_TRY(link::LinkInput input,
              build_entries(module, plans, program_info_of_entries(cpu, code), code, toolchain));
  input.vendor_folders = vendor_library_folders(module);
  const std::string path = file.folder_.file("entries.so");
  TESSERA_TRY_VOID(link::link_library(toolchain, input, path));
  for (const auto& [name, plan] : plans) {
    const tir::PrimFunc& f = module.prim_funcs.at(name);
    file.programs_[name] = {path, name, likely_input_shapes(f, module.symbols),
                            largest_input_shapes(f, module.symbols)};
  }
  return file;
}

}  // namespace tessera::driver
