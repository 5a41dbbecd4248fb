// SPDX-License-Identifier: Apache-2.0
// Reads Relay text (relay-spec 1.8; grammar in docs/graph-ir.md). Whole modules: module/text.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "constants/tensor.h"
#include "diagnostics/diagnostic.h"
#include "relay/function.h"
#include "relay/operator.h"
#include "types/dim.h"

namespace tessera::relay {

// A loop function in the text: `@name = tir {`.
struct LoopText {
  std::string name;
  Location at;          // of the name
  std::uint32_t begin;  // offset after the brace
};

struct ParseOptions {
  // What `meta[relay.Constant][i]` means beyond the entries of the text's own metadata section.
  std::vector<Tensor> constants;
  // Those of the file that a line `#[metadata in "FILE"]` names. Without it the line is refused.
  std::function<Result<std::vector<Tensor>>(const std::string& file, const Location& at)>
      constants_in;
  // Reads a loop function and returns the offset of its closing brace. Without it there are none.
  std::function<Result<std::uint32_t>(const LoopText&, const std::vector<Tensor>& constants)>
      loop_text;
};

struct ParsedText {
  std::map<std::string, Function> functions;
  SymbolTable symbols;
};

// A text of definitions. All errors that can be found are reported, each with its place. Nodes that
// no result depends on are left out; recursive `let` functions become functions of their own.
Result<ParsedText> parse_text(std::shared_ptr<const SourceFile> file,
                              const OperatorTable& operators, const ParseOptions& options = {});
// One function: `fn (...) { ... }` as print() writes it, with or without version and metadata.
Result<Function> parse_function(std::shared_ptr<const SourceFile> file,
                                const OperatorTable& operators, const ParseOptions& options = {});
// The file that a line `#[metadata in "FILE"]` of the text names.
std::optional<std::string> metadata_file(std::string_view text);
// `Tensor[(2, ?n), float32]`, `(int64, bool)`.
Result<Type> parse_type(std::shared_ptr<const SourceFile> file);

}  // namespace tessera::relay
