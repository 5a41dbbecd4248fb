// SPDX-License-Identifier: Apache-2.0
// Structural equality and hash of loop IR. Names are hints and do not count: a variable or buffer
// defined inside of both trees (loop, let, allocation, parameter) equals the one defined at the
// same place of the other. What neither tree defines must be the same object.
#pragma once

#include <cstdint>
#include <vector>

#include "tir/prim_func.h"

namespace tessera::tir {

bool equal(const Expr& x, const Expr& y);
bool equal(const Stmt& x, const Stmt& y);
bool equal(const std::vector<Expr>& x, const std::vector<Expr>& y);
// Signature, body, is_host and attributes; sources do not count.
bool equal(const PrimFunc& x, const PrimFunc& y);

// Equal trees have equal hashes, in every process; variables from outside count by name.
std::uint64_t hash(const Expr& e);
std::uint64_t hash(const Stmt& s);
std::uint64_t hash(const PrimFunc& f);

}  // namespace tessera::tir
