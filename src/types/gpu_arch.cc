// SPDX-License-Identifier: Apache-2.0
#include "types/gpu_arch.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera {
namespace {

std::string_view number_of(std::string_view arch) { return arch.substr(arch.find('_') + 1); }

}  // namespace

std::string_view gpu_arch_number(std::string_view arch) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t begin = std::min(arch.find_first_of(kDigits), arch.size());
  return arch.substr(begin, arch.find_first_not_of(kDigits, begin) - begin);
}

int usual_multiprocessors(std::string_view arch) {
  struct Usual {
    std::string_view arch;
    int multiprocessors;
  };
  // What CUDA's documentation says.
  constexpr Usual kUsual[] = {{"sm_80", 108}, {"sm_86", 72}, {"sm_87", 16}, {"sm_89", 142}};
  for (const Usual& usual : kUsual) {
    if (usual.arch == arch) return usual.multiprocessors;
  }
  return 132;
}

bool has_ptx_for_later(std::string_view arch) {
  return number_of(arch).find_first_not_of("0123456789") == std::string_view::npos;
}

std::string gencode_flag(std::string_view arch, bool with_ptx) {
  const std::string_view number = number_of(arch);
  return with_ptx ? fmt::format("-gencode=arch=compute_{0},code=[sm_{0},compute_{0}]", number)
                  : fmt::format("-gencode=arch=compute_{0},code=sm_{0}", number);
}

}  // namespace tessera
