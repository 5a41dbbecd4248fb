// SPDX-License-Identifier: Apache-2.0
// For tests: modules from Relay text.
#pragma once

#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"

namespace tessera::passes::testing {

// `text` without the version line, types inferred; `constants` are those that it mentions.
inline Module module_of(const std::string& text, std::vector<Tensor> constants = {}) {
  const auto file =
      std::make_shared<SourceFile>(SourceFile{"test", "#[version = \"0.0.5\"]\n" + text});
  auto parsed = parse_module(file, ops::operators(), std::move(constants));
  TESSERA_CHECK(parsed.has_value(), "{}", render(parsed.error()));
  auto typed = ops::infer_types(std::move(*parsed));
  TESSERA_CHECK(typed.has_value(), "{}", render(typed.error()));
  return std::move(*typed);
}

}  // namespace tessera::passes::testing
