// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of what a model dequantised: which become products of integers, and why
// the others do not.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "passes/quantized_values.h"

namespace tessera::passes {

// Which of them there is code for.
enum class IntegerProducts {
  kNone,
  kAll,
  kPairs,  // those that generated code multiplies by pairs (widening_rules.h)
};
// `none`, `all` or `pairs`; nothing for another word.
std::optional<IntegerProducts> parse_integer_products(std::string_view word);

struct QuantizedProduct {
  Quantized x, weight;
};

// A convolution or a product of matrices in float32.
bool is_float_product(const relay::Function& f, relay::NodeId id);

// `why` says why it stays in float32 where there is none. Of a node of which is_float_product
// holds.
std::optional<QuantizedProduct> quantized_product(const QuantizedValues& values, relay::NodeId id,
                                                  IntegerProducts products, std::string_view& why);

}  // namespace tessera::passes
