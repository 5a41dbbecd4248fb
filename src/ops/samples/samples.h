// SPDX-License-Identifier: Apache-2.0
// The samples of operator records, as functions of one call with inputs to run them on.
//
//   sample    ::= name `(` [operand {`,` operand}] {`,` attribute} `)`
//   operand   ::= tensor | `(` tensor {`,` tensor} `)`
//   tensor    ::= dtype `[` sizes `]` [domain | `=` value | `=` `[` values `]`]
//   domain    ::= `{` low `..` high `}`    random numbers in it; integers include `high`
//               | `{special}`              NaN, infinities and zeros among others
//   attribute ::= name `=` (number | "text" | True | False | None | `[` ... `]`)
//
// A tensor with values is a constant of the function, the others are its parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relay/function.h"
#include "relay/operator.h"

namespace tessera::ops {

struct SampleInput {
  Type type;
  double low = 0, high = 0;
  bool special = false;
};

struct Sample {
  std::string text;
  relay::Function function;         // types inferred
  std::vector<SampleInput> inputs;  // one a parameter
};

// The text must be right: samples are ours.
Sample parse_sample(std::string_view text);

// The same for the same seed, on every machine.
std::vector<Tensor> random_inputs(const Sample& sample, std::uint64_t seed);
// With NaN, infinities and zeros for all floats, whatever the sample asks for.
std::vector<Tensor> special_inputs(Sample sample, std::uint64_t seed);

// Is the result on such inputs the same whoever computes it? A float that no integer holds has no
// conversion, and padding is left out or multiplied with.
bool defines_special_values(const relay::Operator& op);

}  // namespace tessera::ops
