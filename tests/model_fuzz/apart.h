// SPDX-License-Identifier: Apache-2.0
// Hostile models are compiled in a process of their own, with little time and memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "diagnostics/diagnostic.h"

namespace tessera::model_fuzz {

enum Outcome : int { kCompiled = 0, kRefused = 1, kInternalError = 2, kOtherException = 3 };

// Refused, if every error says what is wrong.
int outcome_of(const Diagnostics& errors);

// "" or what went wrong; counts what is "compiled" and "refused".
std::string run_apart(const std::function<int()>& compile, std::map<std::string, int>& counts);

// What an environment variable says.
std::uint64_t number_of(const char* variable, std::uint64_t otherwise);

}  // namespace tessera::model_fuzz
