// SPDX-License-Identifier: Apache-2.0
// What a symbolic Dim holds; for the files of types/, and for tir/, which computes it.
//
//   expr = sum of terms, leading term first, the constant last      2*seq*batch + seq + 1
//   term = coefficient times a product of atoms, atoms sorted
//   atom = symbol | floordiv(a, b) | floormod(a, b) | min(a, b) | max(a, b)
//
// Terms are ordered by degree, then lexicographically, which multiplication preserves; so equal
// sums have one form and long division works. All recursion is bounded by kMaxSize.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "types/dim.h"

namespace tessera {

enum class DimOp : std::uint8_t { kSymbol, kFloorDiv, kFloorMod, kMin, kMax };

struct DimAtom {
  DimOp op = DimOp::kSymbol;
  std::string name;  // of a symbol
  Dim a, b;          // of the others
};
using DimAtomRef = std::shared_ptr<const DimAtom>;

struct DimTerm {
  std::int64_t coefficient = 0;
  std::vector<DimAtomRef> factors;  // sorted; empty for the constant
};

struct DimExpr {
  std::vector<DimTerm> terms;  // never empty, no zero coefficients
  std::size_t size = 0;        // atoms inside, counted as a tree
  std::uint64_t hash = 0;
};

struct DimInterval {
  std::optional<std::int64_t> min, max;  // nothing: no bound
};

// The builders behind the operators of types/dim.h. None of them takes an unknown Dim.
struct DimAlgebra {
  static constexpr std::size_t kMaxSize = 512;  // larger expressions become `?`

  static std::vector<DimTerm> terms_of(const Dim& dim);
  // Sorts, merges and drops zeros; `?` on overflow or when too large.
  static Dim from_terms(std::vector<DimTerm> terms);
  static Dim from_atom(DimOp op, Dim a, Dim b);
  static Dim from_symbol(std::string name);
  // The atom, if the dimension is one atom and nothing else.
  static const DimAtom* as_atom(const Dim& dim, DimOp op);
  // What `op`, min or max, is taken of: nested ones flattened, anything else alone.
  static std::vector<Dim> arguments(DimOp op, const Dim& dim);
  static int compare(const Dim& a, const Dim& b);
  static int compare_atoms(const DimAtomRef& a, const DimAtomRef& b);
  static bool atom_before(const DimAtomRef& a, const DimAtomRef& b) {
    return compare_atoms(a, b) < 0;
  }
  static int compare_factors(const DimTerm& a, const DimTerm& b);

  // a / b without rest, by long division; nothing if there is a rest.
  static std::optional<Dim> divide_exactly(const Dim& a, const Dim& b);
  // Symbols are >= 0; divisors are > 0.
  static DimInterval interval(const Dim& dim);
  static bool always_le(const Dim& a, const Dim& b);  // in every run
  // Writes every floormod(x, y) as x - y * floordiv(x, y).
  static Dim without_floor_mod(const Dim& dim);
};

}  // namespace tessera
