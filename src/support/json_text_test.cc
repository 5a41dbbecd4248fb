// SPDX-License-Identifier: Apache-2.0
#include "support/json_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

TEST(JsonText, BytesThatAreNoUtf8AreReplaced) {
  const nlohmann::ordered_json json = {{"name", "caf\xe9 \xff caf\xc3\xa9"}, {"bytes", 3}};
  const std::string text = json_text(json);
  EXPECT_EQ(text, "{\"name\":\"caf\xef\xbf\xbd \xef\xbf\xbd caf\xc3\xa9\",\"bytes\":3}");
  EXPECT_EQ(nlohmann::ordered_json::parse(json_text(json, 2)), nlohmann::ordered_json::parse(text));
}

}  // namespace
}  // namespace tessera
