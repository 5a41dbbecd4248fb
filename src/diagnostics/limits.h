// SPDX-License-Identifier: Apache-2.0
// What compiling may take. A small file can ask for any amount of work, memory and depth; what it
// may have grows with it, and a user who trusts it can raise each limit (`--limit NAME=VALUE`).
// None depends on time. One that depends on the machine decides between a result and an error,
// never between two results: a library's bytes are the same wherever it is compiled.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "diagnostics/diagnostic.h"

namespace tessera {

struct Limits {
  // The work of evaluating constants, in each pass that does: a call beyond is left to the run.
  std::int64_t fold_work = 0;  // operations on elements
  // The bytes of constants that compiling makes, at the import and in each pass.
  std::int64_t constant_bytes = 0;
  // Those of a graph with functions in place of their calls, and steps of sequences one by one.
  std::int64_t nodes = 0;
  // The depth of functions, branches and loops within each other.
  std::int64_t depth = 0;
};

// By name: "fold-work", ...
using LimitBindings = std::map<std::string, std::int64_t>;
Result<LimitBindings> parse_limits(std::span<const std::string> texts);
// "fold-work, constant-bytes, ...": for --help.
std::string limit_names();

// The limits of a model of so many bytes; those that are given count as they are.
Limits limits_for(std::uint64_t model_bytes, const LimitBindings& given = {});

// All of them by name: limits that stay when the model grows.
LimitBindings bindings_of(const Limits& limits);

// "WHAT needs AMOUNT, and the limit `nodes` is 65536".
Diagnostic limit_exceeded(const Location& at, std::string_view limit, std::int64_t bound,
                          const std::string& what, double amount);

}  // namespace tessera
