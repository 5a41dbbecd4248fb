// SPDX-License-Identifier: Apache-2.0
// Attention in blocks of queries. The scores of all queries at once may be larger than caches;
// those of a block stay there from step to step.
#pragma once

#include <algorithm>

#include "backends/onednn/runtime/spec.h"

namespace tessera::backends::onednn {

// Equal parts of a dimension. The last one begins early enough to be as large as the others: what
// it shares with the one before is computed twice, so that one primitive serves all.
struct Loop {
  std::int64_t extent = 1, size = 1;

  std::int64_t count() const { return (extent + size - 1) / size; }
  std::int64_t begin(std::int64_t i) const { return std::min(i * size, extent - size); }
  // Into as few parts as have so much each at most.
  void divide(std::int64_t most) {
    const std::int64_t parts = (extent + most - 1) / most;
    size = (extent + parts - 1) / parts;
  }
};

inline constexpr std::int32_t kMaxLoops = 4;

// One loop a dimension of the scores but the last, outermost first.
struct Blocks {
  Loop loops[kMaxLoops];
  std::int32_t loop_count = 0;

  std::int64_t count() const;
  // How many bytes after those of the first block the `i`-th one has its elements.
  std::int64_t offset_bytes(std::int64_t i, const std::int64_t (&stride_bytes)[kMaxLoops]) const;
};

// Three kernels that only hand results on to each other: the product that gives scores, their
// softmax, and the product of that with the values.
enum class AttentionPart : std::uint8_t { kScores, kSoftmax, kResult };
inline constexpr std::size_t kAttentionParts = 3;
struct Attention {
  std::uint32_t nodes[kAttentionParts] = {};  // of the JSON graph
  KernelSpec kernels[kAttentionParts];

  const KernelSpec& of(AttentionPart part) const { return kernels[static_cast<std::size_t>(part)]; }
  // Can blocks of queries be computed apart, by changing dimensions and addresses alone?
  bool can_be_cut() const;
};

// For so many threads. One block: the whole is as fast, or blocks would have operands with gaps
// that the library does not add to a product.
Blocks choose_blocks(const Attention& attention, std::int32_t threads);

// The kernel of one block.
KernelSpec cut(const KernelSpec& whole, AttentionPart part, const Blocks& blocks);

// How far from each other the blocks of an operand, or a result, lie in each loop's dimension.
void stride_bytes_of(const OperandSpec& operand, const Blocks& blocks,
                     std::int64_t (&stride_bytes)[kMaxLoops]);
void stride_bytes_of_result(const KernelSpec& product, const Blocks& blocks,
                            std::int64_t (&stride_bytes)[kMaxLoops]);

}  // namespace tessera::backends::onednn
