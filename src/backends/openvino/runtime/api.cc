// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/runtime/api.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace tessera::backends::openvino {
namespace {

// float32 is float32's, and who says how many threads there are means it. No thread is bound to a
// CPU.
constexpr ov_property_t kProperties[] = {
    {"INFERENCE_PRECISION_HINT", "f32"},      {"EXECUTION_MODE_HINT", "ACCURACY"},
    {"DYNAMIC_QUANTIZATION_GROUP_SIZE", "0"}, {"ENABLE_CPU_PINNING", "NO"},
    {"ENABLE_HYPER_THREADING", "YES"},
};

// Lines that name a place in OpenVINO's sources.
bool is_place(std::string_view line) {
  return line.starts_with("Exception from ") || line.starts_with("Check '");
}

}  // namespace

bool load_api(Api* api, Lookup lookup, void* context) {
#define FUNCTION(name)                                                                \
  api->name = reinterpret_cast<decltype(&::ov_##name)>(lookup(context, "ov_" #name)); \
  if (api->name == nullptr) return false;
#include "backends/openvino/runtime/functions.def"
#undef FUNCTION
  return true;
}

Version::Version(const Api& api) {
  ov_version_t version = {};
  if (api.get_openvino_version(&version) != OK) return;
  std::snprintf(text, sizeof text, "%s", version.buildNumber);
  api.version_free(&version);
}

void add_reason(const Api& api, ov_status_e status, runtime::TextBuffer* error) {
  const char* message = api.get_last_err_msg();
  std::string_view left = message != nullptr ? message : "";
  bool has_said = false;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    std::string_view line = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    while (line.starts_with(' ')) line.remove_prefix(1);
    if (line.empty() || is_place(line)) continue;
    error->add("%s%.*s", has_said ? " " : "", static_cast<int>(line.size()), line.data());
    has_said = true;
  }
  if (!has_said) error->add("%s", api.get_error_info(status));
}

ov_core_t* create_core(const Api& api, runtime::TextBuffer* error) {
  ov_core_t* core = nullptr;
  ov_status_e status = api.core_create(&core);
  if (status == OK) {
    status = api.core_set_properties(core, kDevice, std::size(kProperties), kProperties);
  }
  if (status == OK && set_threads(api, core, 0, error)) return core;
  if (status != OK) {
    error->add("OpenVINO cannot be used on the CPU: ");
    add_reason(api, status, error);
  }
  if (core != nullptr) api.core_free(core);
  return nullptr;
}

bool set_threads(const Api& api, ov_core_t* core, std::int32_t threads,
                 runtime::TextBuffer* error) {
  char count[16];
  std::snprintf(count, sizeof count, "%d", threads);
  const ov_property_t properties[] = {{"NUM_STREAMS", threads > 0 ? "1" : "0"},
                                      {"INFERENCE_NUM_THREADS", count}};
  const ov_status_e status =
      api.core_set_properties(core, kDevice, std::size(properties), properties);
  if (status == OK) return true;
  error->add("OpenVINO does not take %d threads: ", threads);
  add_reason(api, status, error);
  return false;
}

ov_element_type_e element_type(tessera_dtype dtype) {
  if (dtype.lanes != 1) return DYNAMIC;
  if (dtype.code == TESSERA_FLOAT && dtype.bits == 32) return F32;
  if (dtype.code == TESSERA_BOOL) return BOOLEAN;
  if (dtype.code == TESSERA_INT && dtype.bits == 8) return I8;
  if (dtype.code == TESSERA_INT && dtype.bits == 32) return I32;
  if (dtype.code == TESSERA_INT && dtype.bits == 64) return I64;
  if (dtype.code == TESSERA_UINT && dtype.bits == 8) return U8;
  return DYNAMIC;
}

}  // namespace tessera::backends::openvino
