// SPDX-License-Identifier: Apache-2.0
#include "relay/parse.h"

#include <utility>

#include "module/text.h"
#include "tir/parse.h"

namespace tessera {

Result<Module> parse_module(std::shared_ptr<const SourceFile> file,
                            const relay::OperatorTable& operators, std::vector<Tensor> constants) {
  Module module;
  relay::ParseOptions options;
  options.constants = std::move(constants);
  options.loop_text = [&](const relay::LoopText& loop,
                          const std::vector<Tensor>& known) -> Result<std::uint32_t> {
    tir::ParseOptions inner;
    inner.constant = [&](std::uint32_t i) {
      return i < known.size() ? std::optional(known[i]) : std::nullopt;
    };
    TESSERA_TRY(tir::ParsedPrimFunc parsed, tir::parse_prim_func(file, loop.begin, inner));
    if (!module.prim_funcs.emplace(loop.name, std::move(parsed.func)).second) {
      return fail(error(Code::kDuplicateName, loop.at, "`@{}` is defined twice", loop.name));
    }
    for (const Tensor& tensor : known) module.constants.add(tensor);
    return parsed.end;
  };
  TESSERA_TRY(relay::ParsedText text, relay::parse_text(file, operators, options));
  Diagnostics errors;
  for (const auto& [name, f] : text.functions) {
    if (!module.prim_funcs.contains(name)) continue;
    errors.add(error(Code::kDuplicateName, f.location, "`@{}` is also a loop function", name));
  }
  if (!errors.empty()) return fail(std::move(errors));
  module.functions = std::move(text.functions);
  module.symbols = std::move(text.symbols);
  return module;
}

}  // namespace tessera
