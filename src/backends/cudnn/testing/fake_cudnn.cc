// SPDX-License-Identifier: Apache-2.0
// For tests: cuDNN's graph interface as far as we call it, over the host's memory. A finalised
// graph is a text, and so is a plan, which computes by the plain definition. Engines:
//   10  in the first list, three times: tensor cores (choice 2 at 0, 1 or 2); sums, multiplications
//       and a ReLU without an upper bound; at choice 1 it computes wrong numbers
//   48  before it: sums of reduced precision
//   7   in the first list for other graphs, attention and norms among them: its code is compiled
//   11  in the last list: any graph with a convolution, with a workspace
// Of the first the choices take 20, 5 and 10 us of the device's time, engine 11 takes 40. Launches
// can be recorded and replayed.
// In the environment FAKE_CUDNN_VERSION is its version, FAKE_CUDNN_LACKS says that it has no
// engine, FAKE_CUDNN_TAKES_NO_PLAN that it refuses to restore plans.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <cudnn_graph.h>

#include "backends/cudnn/testing/fake_graph.h"
#include "backends/cudnn/testing/fake_run.h"

namespace {

using namespace tessera::backends::cudnn::testing;  // NOLINT: the stand-in in its parts
constexpr std::int64_t kWorkspaceBytes = 256;

bool asks(const char* name) { return std::getenv(name) != nullptr; }

// ---- Engines
// -------------------------------------------------------------------------------------

struct Configuration {
  std::int64_t engine;
  std::vector<std::pair<int, std::int64_t>> choices;
};

bool convolves(const std::string& graph) { return graph.find("convolution") != std::string::npos; }

// Does engine 10 do what is in the graph?
bool is_plain(const std::string& graph) {
  if (!convolves(graph)) return false;
  std::istringstream in(graph);
  for (std::string word; in >> word;) {
    if (word != "pointwise") continue;
    int mode = 0, is_binary = 0;
    double low = 0, high = 0, slope = 0;
    in >> mode >> is_binary >> low >> high >> slope;
    const bool is_relu = mode == CUDNN_POINTWISE_RELU_FWD && high > 1e299 && slope == 0;
    if (mode != CUDNN_POINTWISE_ADD && mode != CUDNN_POINTWISE_MUL && !is_relu) return false;
  }
  return true;
}

// As of the engines of attention: heads are of multiples of 8 elements.
bool has_odd_heads(const std::string& graph) {
  std::istringstream in(graph);
  for (std::string word; in >> word;) {
    if (word == "matmul") return read_tensor(in).dims[3] % 8 != 0;
  }
  return false;
}

std::vector<Configuration> configurations(const std::string& graph, int list) {
  if (asks("FAKE_CUDNN_LACKS") || has_odd_heads(graph)) return {};
  if (list == CUDNN_HEUR_MODE_FALLBACK && !convolves(graph)) return {};
  if (list == CUDNN_HEUR_MODE_FALLBACK) return {{11, {}}};
  if (list != CUDNN_HEUR_MODE_A) return {};
  if (!is_plain(graph)) return {{7, {}}};
  return {{48, {}}, {10, {{2, 0}}}, {10, {{2, 1}}}, {10, {{2, 2}}}};
}

std::string engine_text(std::int64_t engine, const std::string& graph) {
  return std::to_string(engine) + "|" + graph;
}
std::string graph_of(const std::string& engine) { return engine.substr(engine.find('|') + 1); }
std::int64_t number_of(const std::string& engine) { return std::atoll(engine.c_str()); }

std::string choices_text(const std::vector<std::pair<int, std::int64_t>>& choices) {
  std::ostringstream out;
  out << choices.size() << ' ';
  for (const auto& [type, number] : choices) out << type << ' ' << number << ' ';
  return out.str();
}

// "CHOICES|ENGINE|GRAPH"
std::string configuration_text(const Configuration& c, const std::string& graph) {
  return choices_text(c.choices) + "|" + engine_text(c.engine, graph);
}

// The given engine with what choices were set.
std::string finished_configuration(const Descriptor& d) {
  Configuration c;
  const std::string& engine = child(d, CUDNN_ATTR_ENGINECFG_ENGINE).text;
  c.engine = number_of(engine);
  for (const auto raw : values<cudnnBackendDescriptor_t>(d, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)) {
    c.choices.emplace_back(
        value<int>(*descriptor(raw), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
        value<std::int64_t>(*descriptor(raw), CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return configuration_text(c, graph_of(engine));
}

// A plan as text: "plan ENGINE CHOICES GRAPH".
std::string plan_text(const std::string& configuration) {
  const std::size_t bar = configuration.find('|');
  const std::string engine = configuration.substr(bar + 1);
  return "plan " + std::to_string(number_of(engine)) + " " + configuration.substr(0, bar) +
         graph_of(engine);
}
std::string configuration_of(const std::string& plan) {
  std::istringstream in(plan);
  std::string word;
  std::int64_t engine = 0, count = 0;
  in >> word >> engine >> count;
  Configuration c{engine, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    c.choices.emplace_back();
    in >> c.choices.back().first >> c.choices.back().second;
  }
  std::string rest;
  std::getline(in >> std::ws, rest);
  return configuration_text(c, rest);
}

cudnnStatus_t finalize_plan(Descriptor& d) {
  const auto given = d.attributes.find(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  if (given == d.attributes.end()) {
    d.text = plan_text(child(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).text);
  } else if (asks("FAKE_CUDNN_TAKES_NO_PLAN")) {
    return CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH;
  } else {
    d.text.assign(given->second.begin(), given->second.end());
  }
  const std::int64_t bytes = d.text.starts_with("plan 11 ") ? kWorkspaceBytes : 0;
  set(d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, &bytes, sizeof bytes);
  set(d, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, d.text.data(), d.text.size());
  return CUDNN_STATUS_SUCCESS;
}

// ---- Launches
// ------------------------------------------------------------------------------------

std::uint64_t now_ns = 0;  // of the device

std::uint64_t ns_of(const std::string& plan) {
  if (plan.starts_with("plan 10 1 2 0 ")) return 20000;
  if (plan.starts_with("plan 10 1 2 1 ")) return 5000;
  return plan.starts_with("plan 10 1 2 2 ") ? 10000 : 40000;
}

struct Launch {
  std::string plan;
  std::map<std::int64_t, void*> given;
  void* workspace;
  std::size_t workspace_bytes;

  void run() const {
    if (workspace_bytes > 0) std::memset(workspace, 0xff, workspace_bytes);
    tessera::backends::cudnn::testing::Run(plan, given).run();
    now_ns += ns_of(plan);
  }
};
bool is_recording = false;
std::vector<Launch> recorded;

// What a descriptor holds by descriptors of the caller's.
std::int64_t fill(const Descriptor& d, int name, std::int64_t room, cudnnBackendDescriptor_t* out) {
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    const std::string& graph = child(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).text;
    const auto all = configurations(graph, value<int>(d, CUDNN_ATTR_ENGINEHEUR_MODE));
    for (std::size_t i = 0; i < all.size() && static_cast<std::int64_t>(i) < room; ++i) {
      descriptor(out[i])->text = configuration_text(all[i], graph);
    }
    return static_cast<std::int64_t>(all.size());
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) {
    descriptor(out[0])->text = configuration_of(d.text);
    return 1;
  }
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    Descriptor& engine = *descriptor(out[0]);
    engine.text = d.text.substr(d.text.find('|') + 1);
    const std::int64_t number = number_of(engine.text);
    set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, &number, sizeof number);
    const int notes[] = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
                         CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION};
    const std::size_t count = number == 48 ? 2 : number == 10 ? 1 : 0;
    set(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, notes, count * sizeof *notes);
    const int compiles = CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    set(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, &compiles, number == 7 ? sizeof compiles : 0);
    return 1;
  }
  std::istringstream in(d.text);
  std::int64_t count = 0, number = 0;
  in >> count;
  for (std::int64_t i = 0; i < count && i < room; ++i) {
    int type = 0;
    in >> type >> number;
    set(*descriptor(out[i]), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, &type, sizeof type);
    set(*descriptor(out[i]), CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, &number, sizeof number);
  }
  return count;
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() {
  const char* version = std::getenv("FAKE_CUDNN_VERSION");
  return version != nullptr ? static_cast<size_t>(std::atoll(version)) : 91900;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH
             ? "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH"
             : "CUDNN_STATUS_BAD_PARAM";
}
void cudnnGetLastErrorString(char* message, size_t size) {
  if (size > 0) message[0] = '\0';
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new int(0));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* out) {
  *out = new Descriptor{type};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t raw) {
  delete descriptor(raw);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t raw,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  if (descriptor(raw)->is_final) return CUDNN_STATUS_BAD_PARAM;
  set(*descriptor(raw), name, elements, static_cast<std::size_t>(count) * size_of(type));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t raw,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room,
                                       int64_t* count, void* elements) {
  const Descriptor& d = *descriptor(raw);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    *count = fill(d, name, room, static_cast<cudnnBackendDescriptor_t*>(elements));
    return CUDNN_STATUS_SUCCESS;
  }
  const auto at = d.attributes.find(name);
  if (at == d.attributes.end()) return CUDNN_STATUS_BAD_PARAM;
  *count = static_cast<int64_t>(at->second.size() / size_of(type));
  const int64_t taken = *count < room ? *count : room;
  if (elements != nullptr) {
    std::memcpy(elements, at->second.data(), static_cast<std::size_t>(taken) * size_of(type));
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t raw) {
  Descriptor& d = *descriptor(raw);
  d.is_final = true;
  switch (d.type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      d.text = graph_text(d);
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      if (asks("FAKE_CUDNN_TAKES_NO_ENGINE")) return CUDNN_STATUS_BAD_PARAM;
      d.text = engine_text(value<std::int64_t>(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX),
                           child(d, CUDNN_ATTR_ENGINE_OPERATION_GRAPH).text);
      break;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      d.text = finished_configuration(d);
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return finalize_plan(d);
    default:
      break;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const Descriptor& p = *descriptor(pack);
  const auto ids = values<std::int64_t>(p, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = values<void*>(p, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  Launch launch{descriptor(plan)->text, {}, nullptr, 0};
  for (std::size_t i = 0; i < ids.size(); ++i) launch.given[ids[i]] = pointers[i];
  launch.workspace_bytes = static_cast<std::size_t>(
      value<std::int64_t>(*descriptor(plan), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  launch.workspace = value<void*>(p, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (is_recording) {
    recorded.push_back(std::move(launch));
  } else {
    launch.run();
  }
  return CUDNN_STATUS_SUCCESS;
}

std::uint64_t fake_cudnn_now_ns() { return now_ns; }
void fake_cudnn_record(int on) { is_recording = on != 0; }
void* fake_cudnn_take() { return new std::vector<Launch>(std::exchange(recorded, {})); }
void fake_cudnn_replay(void* graph) {
  for (const Launch& launch : *static_cast<std::vector<Launch>*>(graph)) launch.run();
}
void fake_cudnn_drop(void* graph) { delete static_cast<std::vector<Launch>*>(graph); }

}  // extern "C"
