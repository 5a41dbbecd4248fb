// SPDX-License-Identifier: Apache-2.0
// What a back end may ask for a function of its own, through both executors: a workspace that it
// tells at create, and a payload of any bytes.
#include <numeric>

#include "byoc/compiler_functions.h"
#include "driver/kernel_library.h"
#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "plan/device.h"

namespace tessera::driver {
namespace {

using testing::value_of;

// y = x + the sum of the payload's bytes, by way of 16 bytes of workspace for each of n rows.
constexpr Literal kRuntime = R"(#include <stdlib.h>
#include "tessera/call.h"
extern "C" {
uint64_t contract_workspace(const int64_t* dims, tessera_device, int32_t) { return 16 * dims[0]; }
int32_t contract_create(const tessera_state_args* args, void** state) {
  const tessera_artifact_view& view = args->artifacts[0];
  const auto* bytes = static_cast<const unsigned char*>(view.payload);
  if (reinterpret_cast<uintptr_t>(bytes) % 64 != 0) return 1;
  auto* sum = static_cast<float*>(calloc(1, sizeof(float)));
  for (uint64_t i = 0; i < view.payload_bytes; ++i) *sum += bytes[i];
  *state = sum;
  return 0;
}
void contract_destroy(void* state) { free(state); }
int32_t contract_run(const tessera_call* call, tessera_tensor** tensors, int32_t count) {
  if (count != 2 || call->workspace_bytes != 16 * 8) {
    return tessera_call_failed(call, "%d tensors, %d bytes of workspace", static_cast<int>(count),
                               static_cast<int>(call->workspace_bytes));
  }
  const auto* x = static_cast<const float*>(tensors[0]->data);
  auto* scratch = static_cast<float*>(call->workspace);
  auto* y = static_cast<float*>(tensors[1]->data);
  const int64_t elements = tensors[0]->shape[0] * 4;
  for (int64_t i = 0; i < elements; ++i) scratch[i] = x[i];
  const float sum = *static_cast<const float*>(call->states->call_site);
  for (int64_t i = 0; i < elements; ++i) y[i] = scratch[i] + sum;
  return 0;
}
}  // extern "C"
)";

constexpr const char* kModel =
    "def @f(%x: Tensor[(?n, 4), float32]) -> Tensor[(?n, 4), float32] {\n"
    "  nn.relu(%x)\n}\n"
    "def @main(%x: Tensor[(?n, 4), float32]) -> Tensor[(?n, 4), float32] { @f(%x) }\n";

class ExternContract : public testing::ModelTest {
 protected:
  // @f is a function of a back end that has this payload.
  Module module_with(const std::string& text, std::string payload, byoc::ExternInfo info) {
    Module module = value_of(load_model(options(text).model, {}));
    module.targets = {Target()};
    Artifact code;
    code.backend = "contract";
    code.payload = std::string(kRuntime.text());
    module.artifacts.push_back(code);
    Artifact artifact;
    artifact.kind = ArtifactKind::kRuntimeModule;
    artifact.backend = "contract";
    artifact.symbols = {"f"};
    artifact.payload = std::move(payload);
    artifact.run_function = "contract_run";
    artifact.state.create_call_site = "contract_create";
    artifact.state.destroy_call_site = "contract_destroy";
    module.functions.at("f").attrs = {{"Compiler", "contract"}, {"global_symbol", "f"}};
    byoc::make_extern(module, "f", std::move(artifact), std::move(info));
    return module;
  }

  // What both executors make of `rows` rows of ones: the same number everywhere.
  void expect_everywhere(const Module& module, std::int64_t rows, float wanted) {
    const Lowered lowered = value_of(lower_module(module, {}));
    auto toolchain =
        value_of(link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = ""}));
    const MachineCode code = value_of(machine_code(Target(), toolchain.compiler()));
    emit::ProgramInfo info;
    info.build_id = "contract";
    info.target = "cpu";
    info.cpu_arch = tessera_host_arch();
    const std::string path = folder_.file("contract.so");
    ASSERT_TRUE(link::link_library(
        toolchain,
        value_of(build_objects(lowered, info, emit::ProgramKind::kModel, code, toolchain)), path));
    const auto library = value_of(exec::Session::open_library(path, {}));
    const KernelLibrary kernels = value_of(KernelLibrary::load(lowered, info, code, toolchain));
    const auto interpreted = value_of(kernels.open_main({}));
    const std::vector<float> ones(static_cast<std::size_t>(rows * 4), 1.0F);
    const std::vector<float> all(static_cast<std::size_t>(rows * 4), wanted);
    const std::vector<Tensor> inputs = {Tensor::of({rows, 4}, kFloat32, ones)};
    for (exec::Session* session : {library.get(), interpreted.get()}) {
      EXPECT_EQ(value_of(session->run(inputs)).front(), Tensor::of({rows, 4}, kFloat32, all));
    }
  }
};

byoc::ExternInfo asking_for_workspace() {
  byoc::ExternInfo info;
  info.workspace_query = "contract_workspace";
  return info;
}

std::string all_bytes() {
  std::string bytes(256, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  return bytes;
}

TEST_F(ExternContract, TheWorkspaceIsWhatTheLargestSizesNeedAndThePayloadAnyBytes) {
  const Module module = module_with(std::string("#[symbol n = 1..8]\n") + kModel, all_bytes(),
                                    asking_for_workspace());
  const float sum = 255 * 256 / 2;
  expect_everywhere(module, 8, 1 + sum);
  expect_everywhere(module, 3, 1 + sum);
}

TEST_F(ExternContract, APayloadMayBeEmpty) {
  expect_everywhere(
      module_with(std::string("#[symbol n = 1..8]\n") + kModel, "", asking_for_workspace()), 2, 1);
}

TEST_F(ExternContract, NoPayloadIsSourceText) {
  const Module module =
      module_with(std::string("#[symbol n = 1..8]\n") + kModel, "bytes that no compiler reads", {});
  const Lowered lowered = value_of(lower_module(module, {}));
  const auto sources = program_sources(lowered, {}, emit::ProgramKind::kModel, {});
  for (const auto& job : sources) {
    EXPECT_EQ(job.source.text().find("bytes that no compiler reads"), std::string::npos);
  }
  EXPECT_NE(sources.back().source.text().find("extern const unsigned char tessera_payload_1[];"),
            std::string::npos);
}

TEST_F(ExternContract, AWorkspaceForSizesWithoutBoundIsRefused) {
  const Module module = module_with(kModel, "", asking_for_workspace());
  const auto lowered = lower_module(module, {});
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().list.front().message,
            "`f` of back end `contract` tells its workspace for the largest sizes, and `?n` has no "
            "bound");
}

TEST_F(ExternContract, WhatMustNotBeRecordedKeepsAProgramFromReplay) {
  byoc::ExternInfo info;
  info.capture.is_allowed = false;
  const Module module = module_with(std::string("#[symbol n = 1..8]\n") + kModel, "", info);
  const Lowered lowered = value_of(lower_module(module, {}));
  EXPECT_EQ(
      plan::replay_obstacle(lowered.module.prim_funcs.at("main"), lowered.module, lowered.plan),
      "back end `contract` does not let `f` be recorded");
}

}  // namespace
}  // namespace tessera::driver
