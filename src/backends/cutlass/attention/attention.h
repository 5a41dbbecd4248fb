// SPDX-License-Identifier: Apache-2.0
// A composite as attention: softmax(scale Q K^T + mask) V, from the form in which exporters write
// it out. Reshapes, transposes and slices on the way in and out become strides.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "backends/cutlass/gemm/epilogue.h"
#include "byoc/compile_context.h"
#include "support/source.h"
#include "types/target.h"

namespace tessera::backends::cutlass {

struct AttentionConfiguration;

// A tensor seen as [batch, head, row, element]; elements of a row are beside each other.
struct HeadsView {
  relay::NodeId node;
  std::int64_t offset = 0, batch_stride = 0, head_stride = 0, row_stride = 0;  // in elements
};

struct Attention {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  std::int64_t width = 0;  // of a head
  DType dtype;
  bool emulates_float32 = false;  // by three products of tf32
  double scale = 1;
  HeadsView q, k, v;
  HeadsView o;             // of the result; its node is the composite's root
  bool is_causal = false;  // no query looks at keys after it
  std::optional<HeadsView> mask;
  DType mask_dtype;  // one of booleans chooses: a key is seen where it is `seen`
  bool seen = true;
  // With a mask: the score, before it is scaled, of keys that it or the causal one hides.
  double hidden = 0;
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
Expected<Attention, relay::Refusal> describe_attention(const Composite& composite,
                                                       const Target& target);
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
