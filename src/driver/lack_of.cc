// SPDX-License-Identifier: Apache-2.0
#include "driver/lack_of.h"

#include "link/cuda_compiler.h"
#include "link/support_files.h"

namespace tessera::driver {
namespace {

std::optional<byoc::Refusal> lack_of_nvcc(const link::ObjectCache& cache) {
  const auto compiler = link::find_cuda_compiler(cache);
  if (compiler) return std::nullopt;
  const Diagnostic& why = compiler.error().list.front();
  return byoc::Refusal{fmt::format("{}: {}", why.message, why.remedy)};
}

}  // namespace

std::optional<byoc::Refusal> lack_of(const byoc::Backend& backend, const Target& target,
                                     const link::ObjectCache& cache) {
  if (auto missing = backend.available(target)) return missing;
  return backend.needs_cuda_compiler() ? lack_of_nvcc(cache) : std::nullopt;
}

std::optional<byoc::Refusal> lack_of_cuda() {
  if (const auto files = link::SupportFiles::find(); !files || !files->archive("cuda_runtime")) {
    return byoc::Refusal{"tessera was built without the CUDA toolkit's headers"};
  }
  return lack_of_nvcc(link::ObjectCache(""));
}

}  // namespace tessera::driver
