// SPDX-License-Identifier: Apache-2.0
#include "driver/warnings.h"

#include "types/gpu_arch.h"

namespace tessera::driver {

Diagnostic objects_not_kept(const std::string& folder, const FileError& why) {
  return warning(Code::kFileNotWritable, {}, "compiled objects cannot be kept in `{}`: {}", folder,
                 why.code.message())
      .with_remedy(
          "make room, or name a folder that can be written in TESSERA_CACHE_DIR; without one, "
          "everything is compiled again each time");
}

std::vector<Diagnostic> vain_options(std::span<const Target> targets) {
  std::vector<Diagnostic> warnings;
  for (const Target& target : targets) {
    if (target.name() != "cuda" || !target.get_bool("ptx")) continue;
    const std::string& arch = target.get_string("arch");
    if (has_ptx_for_later(arch)) continue;
    warnings.push_back(
        warning(Code::kBadTarget, {},
                "target `cuda -ptx`: PTX of {} is not for later devices, so they cannot run the "
                "library",
                arch)
            .with_remedy(fmt::format("give -arch=sm_{} with -ptx, or leave -ptx away",
                                     gpu_arch_number(arch))));
  }
  return warnings;
}

}  // namespace tessera::driver
