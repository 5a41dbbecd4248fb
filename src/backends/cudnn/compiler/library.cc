// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/library.h"

#include <map>
#include <memory>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/cudnn/compiler/clerk.h"
#include "backends/cudnn/compiler/configuration.h"
#include "backends/cudnn/compiler/device_properties.h"
#include "backends/cudnn/runtime/configuration.h"
#include "byoc/library_search.h"
#include "support/hash.h"

namespace tessera::backends::cudnn {
namespace {

using relay::Refusal;
using Answer = Expected<StoredPlan, Refusal>;

struct Opened {
  Api api = {};
  std::string path, error;
};

Opened open_library() {
  Opened out;
  out.path = byoc::find_library(kLibraryFile, TESSERA_CUDNN_LIBRARY);
  if (out.path.empty()) {
    out.error = fmt::format(
        "{} was not found: install cuDNN 9.8 or later (the PyPI package nvidia-cudnn-cu13 has it), "
        "or name its directory in TESSERA_LIBRARY_PATH",
        kLibraryFile);
    return out;
  }
  void* handle = dlopen(out.path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  const Lookup look_up = [](void* library, const char* symbol) { return dlsym(library, symbol); };
  if (handle == nullptr || !load_api(&out.api, look_up, handle)) {
    out.error = fmt::format("{} lacks a function: cuDNN 9.8 or later is needed", out.path);
  } else if (out.api.GetVersion() < kFirstWithDescriptions) {
    out.error = fmt::format(
        "{} is cuDNN {}, which makes no plans without a device: 9.8 or later "
        "is needed",
        out.path, out.api.GetVersion());
  }
  return out;
}

const Opened& opened() {
  static const Opened library = open_library();
  return library;
}

bool has_driver() {
  static const bool found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NODELETE) != nullptr;
  return found;
}

// Engines whose code cuDNN compiles need the driver.
std::string hint(const OperationGraph& graph) {
  if (!graph.allows_runtime_engines() || has_driver()) return "";
  return "; those that it compiles need the driver's libcuda.so.1, which this machine has not";
}

// Later versions link all of their parts with the driver.
std::string hint_of_driver() {
  if (has_driver()) return "";
  return "; this version may need the driver's libcuda.so.1, which this machine has not";
}

// ---- What the clerk's process does --------------------------------------------------------------

std::string refused(const std::string& why) { return nlohmann::json{{"refused", why}}.dump(); }

// The device of the latest question.
const Device* described(const std::string& properties, TextBuffer* error) {
  static std::map<std::string, std::unique_ptr<Device>> devices;
  auto& device = devices[properties];
  if (device != nullptr) return device.get();
  auto fresh = std::make_unique<Device>();
  if (!fresh->describe(opened().api, properties, error)) return nullptr;
  device = std::move(fresh);
  return device.get();
}

std::string stored(const Device& device, const Plan& plan) {
  TextBuffer error;
  runtime::Array<char> text;
  if (!plan.text(device, &text, &error)) return refused(error.text());
  std::string_view all(text.data(), text.size());
  while (all.ends_with('\0')) all.remove_suffix(1);
  return nlohmann::json{{"plan", all},
                        {"workspace_bytes", plan.workspace_bytes()},
                        {"is_fallback", plan.is_fallback()},
                        {"configuration", configuration_text(device.api(), plan)}}
      .dump();
}

std::string answer_of(const std::string& question) {
  const auto asked = nlohmann::json::parse(question);
  TextBuffer error;
  const Device* device = described(asked["device"].get<std::string>(), &error);
  if (device == nullptr) return refused(error.text() + hint_of_driver());
  runtime::JsonGraph graph;
  if (!graph.parse(asked["graph"].get<std::string>())) return refused(graph.error());
  OperationGraph operations;
  if (!operations.build(*device, graph, &error)) return refused(error.text());
  Plan plan;
  const auto configuration = asked["configuration"].get<std::string>();
  if (!configuration.empty()) {
    if (!make_plan(*device, operations, configuration, &plan, &error)) {
      return refused(error.text());
    }
  } else if (!plan.choose(*device, operations, &error)) {
    return refused(error.text() + hint(operations));
  }
  return stored(*device, plan);
}

// ---- What this process does ---------------------------------------------------------------------

StoredPlan plan_in(const nlohmann::json& answer) {
  return {library_version(), answer.at("plan").get<std::string>(),
          answer.at("workspace_bytes").get<std::int64_t>(),
          answer.at("configuration").get<std::string>(), answer.at("is_fallback").get<bool>()};
}

Answer parsed(const std::string& text) {
  const auto answer = nlohmann::json::parse(text);
  if (answer.contains("refused")) {
    return {Unexpected<Refusal>{{answer["refused"].get<std::string>()}}};
  }
  return plan_in(answer);
}

// Of records, which anybody may have written: nothing if it is no plan.
std::optional<StoredPlan> recorded_plan(const std::string& text) {
  try {
    StoredPlan plan = plan_in(nlohmann::json::parse(text));
    if (plan.workspace_bytes >= 0) return plan;
  } catch (const nlohmann::json::exception&) {
  }
  return std::nullopt;
}

std::string recorded_text(const StoredPlan& plan) {
  return nlohmann::json{{"plan", plan.text},
                        {"workspace_bytes", plan.workspace_bytes},
                        {"is_fallback", plan.is_fallback},
                        {"configuration", plan.configuration}}
      .dump();
}

struct Question {
  std::string text;
  byoc::MadeKey key;  // of the answer, on record
};

Question question_of(const Region& region, const Target& target, const std::string& configuration) {
  Question out;
  out.text = nlohmann::json{{"device", device_properties(target)},
                            {"graph", graph_text(region)},
                            {"configuration", configuration}}
                 .dump();
  out.key = {"cudnn", record_version(), device_text(target),
             fmt::format("plan {} {} {} {}", hash_text(out.text).hex(), region.sizes,
                         to_string(region.dtype), configuration)};
  return out;
}

// What was asked before is remembered, and what the records have. Several threads may ask.
class Answers {
 public:
  Answer of(const std::string& question) {
    const std::lock_guard lock(mutex_);
    return ask(question);
  }

  // Of a graph whose engines may have code that cuDNN compiles. Nothing where the records decide
  // alone, and have none.
  std::optional<Answer> of_compiled(const Question& question) {
    const std::lock_guard lock(mutex_);
    const auto recorded = recorded_.find(question.key);
    if (recorded != recorded_.end()) return Answer(recorded->second);
    if (records_alone_) return std::nullopt;
    Answer answer = ask(question.text);
    if (answer) made_.emplace(question.key, *answer);
    return answer;
  }

  Result<void> recall(const Target& target, const byoc::MadeParts* made) {
    const std::lock_guard lock(mutex_);
    recorded_.clear();
    records_alone_ = made != nullptr && !made->may_make();
    if (made == nullptr) return {};
    byoc::MadeKey key{"cudnn", record_version(), device_text(target), ""};
    TESSERA_TRY(const auto parts, made->all(key.backend, key.version, key.device));
    for (const auto& [workload, part] : parts) {
      key.workload = workload;
      if (auto plan = recorded_plan(part.bytes)) recorded_.emplace(key, *std::move(plan));
    }
    return {};
  }

  Result<void> keep(const Target& target, byoc::MadeParts& made) {
    const std::lock_guard lock(mutex_);
    const auto is_plan = [](const byoc::MadePart& part) {
      return recorded_plan(part.bytes).has_value();
    };
    for (const auto& [key, plan] : made_) {
      if (key.device != device_text(target) || recorded_.contains(key)) continue;
      TESSERA_TRY(const byoc::MadePart kept, made.keep(key, {recorded_text(plan)}, is_plan));
      recorded_.emplace(key, recorded_plan(kept.bytes).value_or(plan));
    }
    return {};
  }

 private:
  const Answer& ask(const std::string& question) {
    const auto known = answers_.find(question);
    if (known != answers_.end()) return known->second;
    std::string text;
    const bool answered = clerk_.ask(question, &text);
    Answer answer = answered ? parsed(text)
                             : Answer(Unexpected<Refusal>{
                                   {fmt::format("cuDNN ended with {} when it was asked", text)}});
    return answers_.emplace(question, std::move(answer)).first->second;
  }

  std::mutex mutex_;
  Clerk clerk_{answer_of};
  std::map<std::string, Answer> answers_;
  bool records_alone_ = false;
  // Of graphs whose engines may have such code: on record, and made in this process.
  std::map<byoc::MadeKey, StoredPlan> recorded_, made_;
};

Answers& answers() {
  static Answers all;
  return all;
}

}  // namespace

std::optional<Refusal> library_missing() {
  if (opened().error.empty()) return std::nullopt;
  return Refusal{opened().error};
}

const std::string& library_path() { return opened().path; }
std::size_t library_version() { return opened().api.GetVersion(); }
std::string library_version_text() {
  const std::size_t version = library_version();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

const Api& library_api() { return opened().api; }

std::string record_version() { return fmt::format("1, cuDNN {}", library_version_text()); }

std::string device_text(const Target& target) {
  const auto model = target.values().find("model");
  return fmt::format("{} {} {}", architecture(target), multiprocessors(target),
                     model == target.values().end() ? "" : std::get<std::string>(model->second));
}

Answer plan_of(const Region& region, const Target& target, const std::string& configuration) {
  if (auto why = library_missing()) return {Unexpected<Refusal>{*why}};
  const Question question = question_of(region, target, configuration);
  if (!region.runtime_engines) return answers().of(question.text);
  if (std::optional<Answer> answer = answers().of_compiled(question)) return *std::move(answer);
  Region ready = region;
  ready.runtime_engines = false;
  return answers().of(question_of(ready, target, configuration).text);
}

Result<void> recall_plans(const Target& target, const byoc::MadeParts* made) {
  if (library_missing()) return {};
  return answers().recall(target, made);
}

Result<void> keep_plans(const Target& target, byoc::MadeParts& made) {
  return answers().keep(target, made);
}

}  // namespace tessera::backends::cudnn
