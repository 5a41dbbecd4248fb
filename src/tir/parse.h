// SPDX-License-Identifier: Apache-2.0
// Reads the text that tir/print.h writes (grammar: docs/loop-ir.md). parse(print(f)) equals f.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "tir/prim_func.h"

namespace tessera::tir {

// What `T.pool(i)` names.
struct PooledConstant {
  ConstantIndex index;
  Tensor data;
};

struct ParseOptions {
  // The tensor that `meta[relay.Constant][i]` names; nothing where there is none.
  std::function<std::optional<Tensor>(std::uint32_t index)> constant;
  // What `T.pool(i)` names; nothing where there is no such constant. Without this function it is
  // the constant of that index, unchecked.
  std::function<std::optional<PooledConstant>(std::uint32_t index)> pooled = {};
};

struct ParsedPrimFunc {
  std::string name;
  PrimFunc func;
  std::uint32_t end = 0;  // offset of the first token after the function: `}` in module text
};

// Reads one function that begins at an offset of a file (at its `@T.prim_func`). It ends where the
// indentation falls back to that of its `def`, or with `}`.
Result<ParsedPrimFunc> parse_prim_func(std::shared_ptr<const SourceFile> file, std::uint32_t begin,
                                       const ParseOptions& options = {});
// A text that holds one function and nothing else.
Result<PrimFunc> parse_prim_func(std::string_view text, const ParseOptions& options = {});
// One expression over the given variables, by their names.
Result<Expr> parse_expr(std::string_view text, const std::vector<Expr>& vars);

}  // namespace tessera::tir
