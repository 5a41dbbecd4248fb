// SPDX-License-Identifier: Apache-2.0
#include "driver/run_chains.h"

#include <fmt/format.h>

#include "driver/pipeline.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/function_attributes.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

// Softmax is never fused with another one.
relay::Function chain(int length) {
  constexpr std::int64_t kElements = 8;
  relay::FunctionBuilder b;
  relay::NodeId at = b.param("x", tensor_type({Dim(1), Dim(kElements)}, kFloat32));
  for (int i = 0; i < length; ++i) at = b.call(ops::op("nn.softmax"), {at});
  relay::Function f = b.finish(at);
  f.attrs.set(std::string(relay::kEntryPoint), 1);
  return f;
}

}  // namespace

Result<EntryFile> chain_library(std::span<const int> lengths, const CompileOptions& options,
                                const MachineCode& code, link::Toolchain& toolchain) {
  CompileOptions undumped = options;
  undumped.dump_dir.clear();
  Module module;
  module.targets = options.targets;
  for (const int length : lengths) {
    module.functions.emplace(fmt::format("chain_{:04}", length), chain(length));
  }
  TESSERA_TRY(module, ops::infer_types(std::move(module)));
  std::vector<Diagnostic> warnings;
  TESSERA_TRY(module, prepare_native(std::move(module), undumped, warnings));
  return EntryFile::build(std::move(module), compute_target(options.targets), code, toolchain);
}

}  // namespace tessera::driver
