// SPDX-License-Identifier: Apache-2.0
// A small program in memory, as exec/ would make one: y = 2 * x + w over float32[2,3], through one
// extern with states, and a second output with the number of the run as int64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/program.h"

namespace tessera::runtime {

inline std::vector<std::string>& state_log() {
  static std::vector<std::string> log;
  return log;
}

// A state that says when it comes and goes.
struct LoggedState {
  std::string name;
};

template <class Name>
std::int32_t log_create(const Name& name, void** state) {
  state_log().push_back("create " + name);
  *state = new LoggedState{name};
  return 0;
}

inline void log_destroy(void* state) {
  auto* logged = static_cast<LoggedState*>(state);
  state_log().push_back("destroy " + logged->name);
  delete logged;
}

inline std::int32_t create_library_state(const tessera_state_args* args, void** state) {
  return log_create(std::string("library of ") + args->backend, state);
}
inline std::int32_t create_instance_state(const tessera_state_args* args, void** state) {
  return log_create(std::string("instance of ") + args->backend, state);
}
inline std::int32_t create_call_site_state(const tessera_state_args* args, void** state) {
  const tessera_artifact_view& artifact = args->artifacts[0];
  return log_create(
      std::string("call site ") + artifact.symbol + " with " + artifact.constants[0].name +
          ", payload " +
          std::string(static_cast<const char*>(artifact.payload), artifact.payload_bytes),
      state);
}
inline std::int32_t refuse_state(const tessera_state_args* args, void**) {
  args->set_error(args, "no engine");
  return 1;
}

struct ProgramFixture {
  static constexpr tessera_dtype kFloat32 = {TESSERA_FLOAT, 32, 1};
  static constexpr tessera_dtype kInt64 = {TESSERA_INT, 64, 1};

  // The extern: workspace holds 2 * x.
  static std::int32_t scale_add(const tessera_call* call, tessera_tensor** tensors,
                                std::int32_t n) {
    if (n != 3 || call->workspace_bytes < 24 || call->states->call_site == nullptr) return 1;
    const auto* x = static_cast<const float*>(tensors[0]->data);
    const auto* w = static_cast<const float*>(tensors[1]->data);
    auto* twice = static_cast<float*>(call->workspace);
    auto* y = static_cast<float*>(tensors[2]->data);
    if (x[0] == -1) {
      call->set_error(call, "minus one is not allowed");
      return 1;
    }
    for (int i = 0; i < 6; ++i) twice[i] = 2 * x[i];
    for (int i = 0; i < 6; ++i) y[i] = twice[i] + w[i];
    return 0;
  }

  static std::int32_t entry(const tessera_frame* frame) {
    tessera_tensor x = frame->input_tensors[0];
    x.data = frame->inputs[0];
    tessera_tensor w = x;
    w.data = const_cast<void*>(frame->constants[0]);
    tessera_tensor* tensors[] = {&x, &w, &frame->output_tensors[0]};
    const tessera_call* call = &frame->extern_calls[0];
    if (const std::int32_t status = scale_add(call, tensors, 3)) return status;
    if (frame->profile != nullptr) tessera_profile_mark(frame->profile, 0);
    auto& runs = *static_cast<std::int64_t*>(frame->context);
    *static_cast<std::int64_t*>(frame->outputs[1]) = ++runs;
    return 0;
  }

  // The same, but for w, which is a kept weight.
  static std::int32_t entry_with_weight(const tessera_frame* frame) {
    tessera_frame changed = *frame;
    const void* constants[] = {frame->inputs[1]};
    changed.constants = constants;
    return entry(&changed);
  }

  void keep_weight() {
    program.inputs = input_and_weight;
    program.kept_weights = &constant_index;
    program.kept_weight_count = 1;
    program.entry = entry_with_weight;
  }

  std::int64_t runs = 0;
  std::int64_t shape[2] = {2, 3};
  float weights[6] = {1, 2, 3, 4, 5, 6};
  tessera_program_io input = {"x", kFloat32, 2, shape, nullptr, nullptr, nullptr, 16, 0};
  tessera_program_io input_and_weight[2] = {
      input, {"w", kFloat32, 2, shape, nullptr, nullptr, nullptr, 0, 0}};
  tessera_program_io outputs[2] = {{"y", kFloat32, 2, shape, nullptr, nullptr, nullptr, 0, 0},
                                   {"run", kInt64, 0, nullptr, nullptr, nullptr, nullptr, 0, 0}};
  tessera_program_pool pool = {"arena", {TESSERA_CPU, 0}, 1000, 64};
  tessera_program_constant constant = {"w", kFloat32, 2, shape, 0, 24};
  const char* constant_name = "k_const_0";
  std::int32_t constant_index = 0;
  tessera_program_backend backend = {
      "vendor", nullptr, 0, create_library_state, log_destroy, create_instance_state, log_destroy};
  tessera_program_extern symbol = {"k",
                                   0,
                                   scale_add,
                                   nullptr,
                                   create_call_site_state,
                                   log_destroy,
                                   "{}",
                                   2,
                                   &constant_name,
                                   &constant_index,
                                   1,
                                   -1,
                                   0,
                                   24,
                                   nullptr,
                                   nullptr,
                                   1,
                                   nullptr};
  tessera_program_step step = {"k", "vendor"};
  tessera_program program = {};

  ProgramFixture() {
    program.program_version = TESSERA_PROGRAM_VERSION;
    program.abi_version = TESSERA_ABI_VERSION;
    program.build_id = "test";
    program.target = "cpu";
    program.cpu_arch = tessera_host_arch();
    program.device = {TESSERA_CPU, 0};
    program.inputs = &input;
    program.input_count = 1;
    program.outputs = outputs;
    program.output_count = 2;
    program.pools = &pool;
    program.pool_count = 1;
    program.constants = &constant;
    program.constant_count = 1;
    program.weights = weights;
    program.backends = &backend;
    program.backend_count = 1;
    program.externs = &symbol;
    program.extern_count = 1;
    program.steps = &step;
    program.step_count = 1;
    program.entry = entry;
    program.context = &runs;
    state_log().clear();
  }
};

}  // namespace tessera::runtime
