// SPDX-License-Identifier: Apache-2.0
// Kinds of loop-IR nodes, derived from expr.def and stmt.def.
#pragma once

#include <cstdint>

#include "support/ref.h"
#include "types/dtype.h"

namespace tessera::tir {

enum class ExprKind : std::uint8_t {
#define EXPR(N) N,
#include "tir/expr.def"
#undef EXPR
};
enum class StmtKind : std::uint8_t {
#define STMT(N) N,
#include "tir/stmt.def"
#undef STMT
};
#define EXPR(N) struct N;
#include "tir/expr.def"
#undef EXPR
#define STMT(N) struct N;
#include "tir/stmt.def"
#undef STMT

template <class N>
struct KindOf;
#define EXPR(N)                                    \
  template <>                                      \
  struct KindOf<N> {                               \
    static constexpr ExprKind value = ExprKind::N; \
  };
#include "tir/expr.def"
#undef EXPR
#define STMT(N)                                    \
  template <>                                      \
  struct KindOf<N> {                               \
    static constexpr StmtKind value = StmtKind::N; \
  };
#include "tir/stmt.def"
#undef STMT

}  // namespace tessera::tir
