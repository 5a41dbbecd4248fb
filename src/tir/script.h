// SPDX-License-Identifier: Apache-2.0
// The words of the text form that printer and parser share.
#pragma once

#include <optional>
#include <string_view>

#include "tir/buffer.h"
#include "tir/node.h"
#include "tir/stmt.h"

namespace tessera::tir {

// How tightly the operators bind, loosest first; those of Python.
enum Precedence : int {
  kLoosest = 0,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kAdditive,
  kMultiplicative,
  kUnary,
  kAtom,
};

struct InfixWord {
  ExprKind kind;
  std::string_view text;
  Precedence precedence;
};
inline constexpr InfixWord kInfixWords[] = {
    {ExprKind::Or, "or", kOr},
    {ExprKind::And, "and", kAnd},
    {ExprKind::Eq, "==", kCompare},
    {ExprKind::Ne, "!=", kCompare},
    {ExprKind::Lt, "<", kCompare},
    {ExprKind::Le, "<=", kCompare},
    {ExprKind::Add, "+", kAdditive},
    {ExprKind::Sub, "-", kAdditive},
    {ExprKind::Mul, "*", kMultiplicative},
    {ExprKind::Div, "/", kMultiplicative},
    {ExprKind::FloorDiv, "//", kMultiplicative},
    {ExprKind::FloorMod, "%", kMultiplicative},
};

inline constexpr std::string_view kLoopWords[] = {"serial", "parallel", "vectorized", "unrolled",
                                                  "grid",   "warps",    "blocks",     "threads"};
inline constexpr std::string_view kScopeWords[] = {"global", "stack", "constant", "shared"};

// Names after `T.` that are not intrinsics, apart from those of dtypes.
inline constexpr std::string_view kScriptWords[] = {
    "Broadcast",  "Buffer",       "Cast",   "Ramp",        "alloc_buffer", "allocate_const",
    "barrier",    "blocks",       "call",   "call_kernel", "evaluate",     "func_attr",
    "grid",       "if_then_else", "let",    "max",         "min",          "parallel",
    "pool",       "prim_func",    "serial", "threads",     "unrolled",     "view",
    "vectorized", "warps",
};
inline constexpr std::string_view kKeywords[] = {
    "False", "None", "T",    "True", "and", "as", "def",  "else",  "for",  "if",
    "in",    "inf",  "meta", "nan",  "not", "or", "pass", "while", "with",
};

}  // namespace tessera::tir
