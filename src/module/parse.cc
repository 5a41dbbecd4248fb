// SPDX-License-Identifier: Apache-2.0
#include "relay/text/parse.h"

#include <filesystem>
#include <utility>

#include "constants/npy.h"
#include "module/text.h"
#include "tir/parse.h"
#include "tir/verify.h"

namespace tessera {

namespace {

std::string path_beside(const std::string& text_file, const std::string& name) {
  return (std::filesystem::path(text_file).parent_path() / name).string();
}

Result<std::vector<Tensor>> constants_beside(const std::string& text_file, const std::string& name,
                                             const Location& at) {
  TESSERA_TRY(const auto members, read_npz(path_beside(text_file, name)));
  std::vector<Tensor> constants;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto member = members.find(std::to_string(i));
    if (member == members.end()) {
      return fail(error(Code::kBadMetadata, at, "`{}` has {} members, and none is called {}", name,
                        members.size(), i)
                      .with_remedy("write the text and its constants again"));
    }
    constants.push_back(member->second);
  }
  return constants;
}

Result<Module> parse(const std::shared_ptr<const SourceFile>& file,
                     const relay::OperatorTable& operators, relay::ParseOptions options) {
  Module module;
  options.loop_text = [&](const relay::LoopText& loop,
                          const std::vector<Tensor>& known) -> Result<std::uint32_t> {
    tir::ParseOptions inner;
    inner.constant = [&](std::uint32_t i) {
      return i < known.size() ? std::optional(known[i]) : std::nullopt;
    };
    // Equal constants of the metadata are one of the pool.
    for (const Tensor& tensor : known) module.constants.add(tensor);
    inner.pooled = [&](std::uint32_t i) -> std::optional<tir::PooledConstant> {
      if (i >= known.size()) return std::nullopt;
      return tir::PooledConstant{module.constants.add(known[i]), known[i]};
    };
    TESSERA_TRY(tir::ParsedPrimFunc parsed, tir::parse_prim_func(file, loop.begin, inner));
    TESSERA_TRY_VOID(tir::verify(parsed.func, loop.name));
    if (!module.prim_funcs.emplace(loop.name, std::move(parsed.func)).second) {
      return fail(error(Code::kDuplicateName, loop.at, "`@{}` is defined twice", loop.name));
    }
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

}  // namespace

Result<Module> parse_module(std::shared_ptr<const SourceFile> file,
                            const relay::OperatorTable& operators, std::vector<Tensor> constants) {
  relay::ParseOptions options;
  options.constants = std::move(constants);
  return parse(file, operators, std::move(options));
}

Result<Module> parse_module_file(std::shared_ptr<const SourceFile> file,
                                 const relay::OperatorTable& operators) {
  relay::ParseOptions options;
  options.constants_in = [&](const std::string& name, const Location& at) {
    return constants_beside(file->name, name, at);
  };
  return parse(file, operators, std::move(options));
}

std::optional<std::string> constant_file(const SourceFile& file) {
  const auto name = relay::metadata_file(file.text);
  return name ? std::optional(path_beside(file.name, *name)) : std::nullopt;
}

}  // namespace tessera
