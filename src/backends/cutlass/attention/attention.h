// SPDX-License-Identifier: Apache-2.0
// Attention as the kernels of this back end compute it: what they are told, and the text of it.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "attention/describe.h"
#include "backends/cutlass/gemm/epilogue.h"
#include "byoc/compile_context.h"
#include "support/source.h"
#include "types/target.h"

namespace tessera::backends::cutlass {

struct AttentionConfiguration;

using attention::HeadsView;

struct Attention : attention::Attention {
  bool emulates_float32 = false;  // by three products of tf32

  Source hidden_text() const;  // as C++ has it

  // As Extern has it: less than float32's own by plain tf32.
  DType float32_precision() const;
  // What kernel and configuration depend on: equal text, equal work.
  std::string workload() const;
  // Without sizes and strides: what a program that measures it is compiled for.
  std::string kernel_text() const;
};

// Is the region's function attention, not a product? One or the other describes it.
bool is_attention(const relay::Function& region);

// Whether a kernel takes it is said in attention_configuration.h.
Expected<Attention, relay::Refusal> describe_attention(const relay::Match& match,
                                                       const Target& target);
Expected<Attention, relay::Refusal> describe_attention(const relay::Function& region,
                                                       const ConstantPool& pool,
                                                       const Target& target);

// Numbers of the tensors that queries, keys and values are parts of, from 0 on.
std::array<int, 3> memories_of(const Attention& attention);

// As those of source.h.
Literal template_header(const AttentionConfiguration& configuration);
// "tessera_attention_float16_64_keymask_float16_sm90_64x128_SelfLoading",
// "tessera_attention_float32_96_3xtf32_causal_sm80_64x64".
std::string kernel_symbol(const Attention& attention, const AttentionConfiguration& configuration);
Source kernel_source(const Attention& attention, const AttentionConfiguration& configuration);
Source region_source(const std::string& symbol, const relay::Function& region,
                     const Attention& attention, const AttentionConfiguration& configuration);

}  // namespace tessera::backends::cutlass
