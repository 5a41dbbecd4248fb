// SPDX-License-Identifier: Apache-2.0
// A composite as one product of matrices, or of batches of them, with its epilogue.
#pragma once

#include <optional>
#include <string>

#include "backends/cutlass/conv/conv.h"
#include "backends/cutlass/gemm/epilogue.h"
#include "types/target.h"

namespace tessera::backends::cutlass {

// B as integers of a few bits in blocks along K, each with a scale, and with an offset perhaps.
struct MixedForm {
  std::int64_t bits = 8, block_size = 0;
  relay::NodeId scale;
  DType scale_dtype;
  bool has_offsets = false;
};

struct Gemm {
  Dim m = 0, n = 0, k = 0, batch = 1;
  DType a_dtype, b_dtype, sum_dtype;
  bool a_is_column_major = false;  // A is stored [K, M]
  bool b_is_row_major = false;     // B is stored [K, N], not [N, K]
  // Of floats of eight bits, of which A and B are the codes; null: they are what their types say.
  const Float8Format *a_format = nullptr, *b_format = nullptr;
  bool has_fast_sums = false;  // of those
  bool is_fast = false;        // float32 results take their sigmoid from the hardware's tanh
  // Leading dimensions of the result that count its matrices; those up to the last are rows.
  std::size_t batch_rank = 0;
  bool a_repeats = false, b_repeats = false;  // all matrices of the batch have the same
  bool emulates_float32 = false;              // by three products of tf32
  // Elements that each row of A, B and D can be read by: 16 bytes, or less where sizes are odd.
  std::int64_t a_align = 1, b_align = 1, d_align = 1;
  relay::NodeId a, b;
  std::optional<MixedForm> mixed;          // where B is decoded between memory and multiplying
  std::optional<Convolution> convolution;  // where a window gathers an operand
  Epilogue epilogue;

  // Is the result float32, but that of the product of sixteen bits, as it is where a cast stands at
  // the end? It has no more precision than that.
  bool widens() const;
  // Elements that lie beside each other along K, or of B along N: channels of a convolution.
  Dim run_along_k() const;
  Dim run_along_n() const;
  bool is_float8() const { return a_format != nullptr; }
  // What A and B are of: "float16", "e4m3fn", "int4".
  std::string a_name() const;
  std::string b_name() const;
  bool is(ConvolutionKind kind) const;
  // A convolution with so few channels that a step of a kernel along K would be mostly empty if it
  // had one place of the window.
  bool has_few_channels() const;
  // As Extern has it: less than float32's own by plain tf32 and by fast functions.
  DType float32_precision() const;
  // What kernel and configuration depend on: equal text, equal work.
  std::string workload() const;
  // Without the sizes: what a kernel is compiled for.
  std::string kernel_text() const;
};

// The composite's product is its one `nn.dense`, `nn.matmul`, `nn.batch_matmul`, `nn.conv2d`, or
// one of the gradients of that.
Expected<Gemm, relay::Refusal> describe_gemm(const relay::Match& match, const Target& target);
// The same of a region's function, which is a call of one composite; nodes are those of the
// composite's literal.
Expected<Gemm, relay::Refusal> describe_gemm(const relay::Function& region,
                                             const ConstantPool& pool, const Target& target);

}  // namespace tessera::backends::cutlass
