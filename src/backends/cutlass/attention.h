// SPDX-License-Identifier: Apache-2.0
// A composite as attention: softmax(scale Q K^T + mask) V, from the form in which exporters write
// it out. Reshapes, transposes and slices on the way in and out become strides.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "backends/cutlass/epilogue.h"
#include "byoc/compile_context.h"

namespace tessera::backends::cutlass {

struct AttentionConfiguration;

// A tensor seen as [batch, head, row, element]; elements of a row are beside each other.
struct HeadsView {
  relay::NodeId node;
  std::int64_t offset = 0, batch_stride = 0, head_stride = 0, row_stride = 0;  // in elements
};

struct Attention {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  std::int64_t width = 0;                                               // of a head
  std::int64_t kernel_width() const { return (width + 63) / 64 * 64; }  // its kernels' heads
  DType dtype;
  double scale = 1;
  HeadsView q, k, v;
  HeadsView o;             // of the result; its node is the composite's root
  bool is_causal = false;  // no query looks at keys behind it
  std::optional<HeadsView> mask;
  DType mask_dtype;  // one of booleans chooses: a key is seen where it is `seen`
  bool seen = true;
  // With a mask: the score, before it is scaled, of keys that it or the causal one hides.
  double hidden = 0;
  std::string hidden_text() const;  // as C++ has it

  // What kernel and configuration depend on: equal text, equal work.
  std::string workload() const;
  // Without sizes and strides: what a kernel is compiled for.
  std::string kernel_text() const;
};

// Is the region's function attention, not a product? One or the other describes it.
bool is_attention(const relay::Function& region);

Expected<Attention, relay::Refusal> describe_attention(const Composite& composite);
Expected<Attention, relay::Refusal> describe_attention(const relay::Match& match);
Expected<Attention, relay::Refusal> describe_attention(const relay::Function& region,
                                                       const ConstantPool& pool);

// Bytes of workspace that its kernels want.
std::int64_t workspace_bytes(const Attention& attention);
// Numbers of the tensors that queries, keys and values are parts of, from 0 on.
std::array<int, 3> memories_of(const Attention& attention);

// As those of source.h: "tessera_attention_float16_64_keymask_float16_sm90_64x128_SelfLoading".
std::string kernel_symbol(const Attention& attention, const AttentionConfiguration& configuration);
std::string kernel_source(const Attention& attention, const AttentionConfiguration& configuration);
std::string region_source(const std::string& symbol, const relay::Function& region,
                          const Attention& attention, const AttentionConfiguration& configuration);

}  // namespace tessera::backends::cutlass
