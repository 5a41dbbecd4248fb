// SPDX-License-Identifier: Apache-2.0
#include "driver/float_operators_json.h"

namespace tessera::driver {

nlohmann::ordered_json float_operators_json(const std::vector<passes::FloatOperators>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [op, reason, count] : rows) {
    list.push_back({{"operator", op}, {"count", count}, {"reason", reason}});
  }
  return list;
}

}  // namespace tessera::driver
