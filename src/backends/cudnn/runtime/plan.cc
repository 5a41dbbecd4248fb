// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/runtime/plan.h"

namespace tessera::backends::cudnn {
namespace {

// What an engine says of its numbers. tf32 is tensor cores on float32.
bool is_exact_enough(const Api& api, cudnnBackendDescriptor_t engine, bool allows_tensor_cores) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT] = {};
  std::int64_t count = 0;
  if (api.BackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                              CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count,
                              notes) != CUDNN_STATUS_SUCCESS) {
    return false;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_allowed = notes[i] == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP ||
                            (notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && allows_tensor_cores);
    if (!is_allowed) return false;
  }
  return true;
}

// No code of its own that has to be compiled first?
bool is_ready(const Api& api, cudnnBackendDescriptor_t engine) {
  cudnnBackendBehaviorNote_t notes[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT] = {};
  std::int64_t count = 0;
  if (api.BackendGetAttribute(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                              CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &count,
                              notes) != CUDNN_STATUS_SUCCESS) {
    return false;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (notes[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) return false;
  }
  return true;
}

bool is_usable(const Api& api, const Descriptor& configuration, const OperationGraph& graph) {
  Descriptor engine;
  engine.create(api, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.raw();
  std::int64_t count = 0;
  return raw != nullptr &&
         api.BackendGetAttribute(configuration.raw(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                 &raw) == CUDNN_STATUS_SUCCESS &&
         is_exact_enough(api, raw, !graph.is_float32() || graph.allows_tf32()) &&
         (graph.allows_runtime_engines() || is_ready(api, raw));
}

}  // namespace

bool Configurations::find(const Device& device, const OperationGraph& graph,
                          cudnnBackendHeurMode_t list, TextBuffer* error) {
  const Api& api = device.api();
  size_ = 0;
  Descriptor heuristics;
  heuristics.create(api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
      .set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.descriptor())
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &list);
  device.set_on(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  cudnnStatus_t status = heuristics.finalize();
  if (status != CUDNN_STATUS_SUCCESS) return fail(api, "cuDNN finds no engine", status, error);
  cudnnBackendDescriptor_t raw[kMost];
  for (std::int64_t i = 0; i < kMost; ++i) {
    all_[i] = Descriptor();
    raw[i] = all_[i].create(api, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).raw();
  }
  std::int64_t found = 0;
  status = api.BackendGetAttribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, kMost, &found, raw);
  if (status != CUDNN_STATUS_SUCCESS) return fail(api, "cuDNN finds no engine", status, error);
  for (std::int64_t i = 0; i < found && i < kMost; ++i) {
    if (is_usable(api, all_[i], graph)) order_[size_++] = i;
  }
  return true;
}

bool Plan::choose(const Device& device, const OperationGraph& graph, TextBuffer* error) {
  TextBuffer first, last;
  if (choose_from(device, graph, CUDNN_HEUR_MODE_A, &first)) return true;
  is_fallback_ = choose_from(device, graph, CUDNN_HEUR_MODE_FALLBACK, &last);
  if (is_fallback_) return true;
  const char* why = first.text()[0] != '\0' ? first.text() : last.text();
  error->add("cuDNN %zu has no engine for it that is as exact as it must be%s%s",
             device.api().GetVersion(), why[0] != '\0' ? ": " : "", why);
  return false;
}

bool Plan::choose_from(const Device& device, const OperationGraph& graph,
                       cudnnBackendHeurMode_t list, TextBuffer* error) {
  auto* configurations = runtime::create<Configurations>();
  if (configurations == nullptr) {
    error->add("out of memory");
    return false;
  }
  bool done = false;
  if (configurations->find(device, graph, list, error)) {
    for (std::int64_t i = 0; i < configurations->size() && !done; ++i) {
      TextBuffer why;
      done = make(device, (*configurations)[i], &why);
      if (!done && error->text()[0] == '\0') error->add("%s", why.text());
    }
  }
  runtime::destroy(configurations);
  return done;
}

bool Plan::make(const Device& device, const Descriptor& configuration, TextBuffer* error) {
  plan_ = Descriptor();
  plan_.create(device.api(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
      .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  device.set_on(plan_, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  return finish(device, error);
}

bool Plan::restore(const Device& device, std::string_view text, TextBuffer* error) {
  plan_ = Descriptor();
  plan_.create(device.api(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
      .set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
           static_cast<std::int64_t>(text.size()), text.data());
  device.set_on(plan_, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  return finish(device, error);
}

bool Plan::finish(const Device& device, TextBuffer* error) {
  const Api& api = device.api();
  cudnnStatus_t status = plan_.finalize();
  std::int64_t bytes = 0, count = 0;
  if (status == CUDNN_STATUS_SUCCESS) {
    status = api.BackendGetAttribute(plan_.raw(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                     CUDNN_TYPE_INT64, 1, &count, &bytes);
  }
  if (status != CUDNN_STATUS_SUCCESS) return fail(api, "no plan", status, error);
  workspace_bytes_ = static_cast<std::uint64_t>(bytes);
  return true;
}

bool Plan::text(const Device& device, runtime::Array<char>* text, TextBuffer* error) const {
  const Api& api = device.api();
  constexpr auto kName = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
  std::int64_t length = 0;
  cudnnStatus_t status =
      api.BackendGetAttribute(plan_.raw(), kName, CUDNN_TYPE_CHAR, 0, &length, nullptr);
  if (status == CUDNN_STATUS_SUCCESS && text->allocate(static_cast<std::size_t>(length))) {
    status =
        api.BackendGetAttribute(plan_.raw(), kName, CUDNN_TYPE_CHAR, length, &length, text->data());
  }
  return status == CUDNN_STATUS_SUCCESS || fail(api, "the plan has no text", status, error);
}

}  // namespace tessera::backends::cudnn
