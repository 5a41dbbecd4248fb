// SPDX-License-Identifier: Apache-2.0
// Structural equality and hash of functions (relay-spec 2.12). Names of locals, locations, inferred
// types and the order of attributes do not count; neither do dead nodes. A value that is used twice
// equals only a value that is used at the same two places.
#pragma once

#include <optional>
#include <string>

#include "constants/pool.h"
#include "relay/function.h"

namespace tessera::relay {

struct Difference {
  std::string
      where;         // "result > operand 1 of `add` > operand 0 of `nn.dense`"; places in the texts
  std::string what;  // "an operator call `exp` against a constant"
};

struct EqualOptions {
  // The pools of the modules that the functions belong to; needed where they refer to pools.
  const ConstantPool* pool_a = nullptr;
  const ConstantPool* pool_b = nullptr;
};

// The first difference in evaluation order; nothing for equal functions.
std::optional<Difference> find_difference(const Function& a, const Function& b,
                                          const EqualOptions& options = {});
bool structural_equal(const Function& a, const Function& b, const EqualOptions& options = {});
// Equal for equal functions; the same on every machine.
std::uint64_t structural_hash(const Function& f, const ConstantPool* pool = nullptr);

}  // namespace tessera::relay
