// SPDX-License-Identifier: Apache-2.0
#include "support/json_text.h"

#include <nlohmann/json.hpp>

namespace tessera {

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  using Json = nlohmann::ordered_json;
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera
