// SPDX-License-Identifier: Apache-2.0
#include "toolchain/toolchain.h"

namespace tessera {

std::vector<Result<std::string>> Toolchain::compile_each(std::span<const CompileJob> jobs) {
  std::vector<Result<std::string>> results;
  for (const CompileJob& job : jobs) {
    auto objects = compile({&job, 1});
    if (objects) {
      results.emplace_back(std::move(objects->front()));
    } else {
      results.emplace_back(Unexpected{std::move(objects).error()});
    }
  }
  return results;
}

Result<std::string> Toolchain::shared_library(std::span<const std::string> /*objects*/) {
  return fail(error(Code::kNoCompiler, nullptr, "{} makes no shared libraries", identity()));
}

}  // namespace tessera
