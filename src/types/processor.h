// SPDX-License-Identifier: Apache-2.0
// CPUs by the names that users give them (-mcpu), and which instructions each has.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "types/option_rules.h"
#include "types/target.h"

namespace tessera {

struct Processor {
  std::string_view name;
  std::string_view base;      // has all but the features; "": there is none
  std::string_view features;  // as -m<name> of compilers spells them, with spaces between
};

std::span<const Processor> processors();
const Processor* find_processor(std::string_view name);  // null: the compiler may know it yet
std::vector<std::string_view> own_features(const Processor& processor);
// Of kThisMachine, what it has.
bool has_feature(std::string_view processor, std::string_view feature);
inline constexpr std::string_view kThisMachine = "native";

// What -mcpu of the machine names, in that order.
std::vector<std::string> processors_of(const Target& cpu);
// Have all of them AVX2, and none AVX-512?
bool has_avx2_at_most(const Target& cpu);
// Its rule.
OptionRule names_of_processors();

}  // namespace tessera
