// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/configuration.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tessera::backends::cudnn {
namespace {

constexpr std::int64_t kMostChoices = CUDNN_KNOB_TYPE_COUNTS;

template <class T>
std::optional<T> attribute(const Api& api, cudnnBackendDescriptor_t of,
                           cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  T value = {};
  std::int64_t count = 0;
  const cudnnStatus_t status = api.BackendGetAttribute(of, name, type, 1, &count, &value);
  return status == CUDNN_STATUS_SUCCESS && count == 1 ? std::optional(value) : std::nullopt;
}

// A descriptor that another one holds, copied into a new one.
Descriptor part(const Api& api, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                cudnnBackendDescriptorType_t type) {
  Descriptor out;
  cudnnBackendDescriptor_t raw = out.create(api, type).raw();
  std::int64_t count = 0;
  api.BackendGetAttribute(of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw);
  return out;
}

// By number, which is the order of the text.
std::map<std::int64_t, std::int64_t> choices_of(const Api& api,
                                                cudnnBackendDescriptor_t configuration) {
  std::vector<Descriptor> descriptors(kMostChoices);
  std::vector<cudnnBackendDescriptor_t> raw;
  for (Descriptor& d : descriptors) {
    raw.push_back(d.create(api, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR).raw());
  }
  std::int64_t count = 0;
  api.BackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostChoices, &count, raw.data());
  std::map<std::int64_t, std::int64_t> choices;
  for (std::int64_t i = 0; i < std::min(count, kMostChoices); ++i) {
    const auto type =
        attribute<cudnnBackendKnobType_t>(api, raw[static_cast<std::size_t>(i)],
                                          CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE);
    const auto value = attribute<std::int64_t>(api, raw[static_cast<std::size_t>(i)],
                                               CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64);
    if (type && value) choices[static_cast<std::int64_t>(*type)] = *value;
  }
  return choices;
}

}  // namespace

std::string configuration_text(const Api& api, const Plan& plan) {
  const Descriptor configuration =
      part(api, plan.descriptor().raw(), CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
           CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  const Descriptor engine =
      part(api, configuration.raw(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  const auto number =
      attribute<std::int64_t>(api, engine.raw(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64);
  if (!number) return "";
  std::string text = fmt::format("{}:", *number);
  const char* between = "";
  for (const auto& [type, value] : choices_of(api, configuration.raw())) {
    text += fmt::format("{}{}={}", std::exchange(between, ","), type, value);
  }
  return text;
}

}  // namespace tessera::backends::cudnn
