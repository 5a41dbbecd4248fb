// SPDX-License-Identifier: Apache-2.0
#include "tir/print.h"

#include <fmt/format.h>

#include "module/text.h"
#include "relay/text/parse_value.h"
#include "relay/text/printer.h"
#include "relay/words.h"

namespace tessera {

namespace {

std::string symbols_text(const Module& module) {
  std::string out;
  for (const auto& [name, symbol] : module.symbols) {
    out += fmt::format("#[symbol {}]\n", relay::symbol_text(symbol));
  }
  return out;
}

std::string loop_function_text(const std::string& name, const tir::PrimFunc& f,
                               relay::ConstantTable& constants) {
  tir::PrintOptions options;
  options.large_constant = [&](const Tensor& tensor) {
    return fmt::format("meta[{}][{}]", relay::kConstantKey, constants.index_of(tensor));
  };
  return fmt::format("{} = tir {{\n{}}}\n", relay::global_text(name), tir::print(f, name, options));
}

}  // namespace

TextAndConstants print_apart(const Module& module, const relay::PrintOptions& options) {
  relay::Printer printer(options, &module.constants);
  // Loop functions name constants by their index in the pool, so there the text keeps its order.
  if (!module.prim_funcs.empty()) {
    for (const Tensor& tensor : module.constants.tensors()) printer.constants().index_of(tensor);
  }
  // The names of main's parameters are the model's interface: they keep theirs.
  const auto main = module.functions.find("main");
  if (main != module.functions.end()) printer.reserve_params(main->second);
  std::string text = fmt::format("{}\n{}", relay::kVersionLine, symbols_text(module));
  bool first = true;
  const auto add = [&](const std::string& item) {
    if (!first) text += '\n';
    first = false;
    text += item;
  };
  for (const auto& [name, f] : module.functions) add(printer.definition(name, f));
  for (const auto& [name, f] : module.prim_funcs) {
    add(loop_function_text(name, f, printer.constants()));
  }
  return {std::move(text), printer.constants().tensors()};
}

TextAndConstants print_apart(const relay::Function& main, const ConstantPool& constants) {
  const relay::PrintOptions options;
  relay::Printer printer(options, &constants);
  printer.reserve_params(main);
  std::string text = fmt::format("{}\n{}", relay::kVersionLine, printer.definition("main", main));
  return {std::move(text), printer.constants().tensors()};
}

std::string metadata_in(const std::string& file) {
  return fmt::format("\n{}{}\"]\n", relay::kMetadataFileLine, file);
}

std::string print(const Module& module, const ModulePrintOptions& options) {
  TextAndConstants out = print_apart(module, options.functions);
  if (out.constants.empty()) return std::move(out.text);
  if (!options.metadata) {
    return out.text + fmt::format("\n// {} constants are omitted\n", out.constants.size());
  }
  return out.text + "\n" + std::string(relay::kMetadataLine) + "\n" +
         relay::metadata_json(out.constants) + "\n";
}

}  // namespace tessera
