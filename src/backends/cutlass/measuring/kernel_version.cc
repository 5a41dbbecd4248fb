// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/measuring/kernel_version.h"

#include <fmt/format.h>

#include "backends/cutlass/jobs.h"
#include "support/files.h"

namespace tessera::backends::cutlass {
namespace {

// To be raised when a configuration, a workload or the source that is written for them changes its
// meaning.
constexpr int kConfigurations = 1;

// "4" of "#define CUTLASS_MAJOR 4".
std::string number_of(const std::string& header, const std::string& macro) {
  const std::string define = "#define " + macro + " ";
  const std::size_t at = header.find(define);
  if (at == std::string::npos) return "?";
  const std::size_t begin = at + define.size();
  return header.substr(begin, header.find_first_not_of("0123456789", begin) - begin);
}

std::string cutlass_version(const Target& target) {
  const auto header = read_file(include_folder(target) + "/cutlass/version.h");
  if (!header) return "?";
  return fmt::format("{}.{}.{}", number_of(*header, "CUTLASS_MAJOR"),
                     number_of(*header, "CUTLASS_MINOR"), number_of(*header, "CUTLASS_PATCH"));
}

}  // namespace

std::string kernel_version(const Target& target) {
  return fmt::format("{}, CUTLASS {}, kernels {}", kConfigurations, cutlass_version(target),
                     TESSERA_CUTLASS_KERNELS_HASH);
}

}  // namespace tessera::backends::cutlass
