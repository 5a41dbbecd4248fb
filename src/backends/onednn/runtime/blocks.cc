// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/blocks.h"

#include "backends/onednn/runtime/layout.h"

namespace tessera::backends::onednn {
namespace {

constexpr std::int64_t kElementBytes = sizeof(float);

// What a thread's part of a block may take: about what the second-level cache and a core's share of
// the third hold. With half of it there are so few rows in a block that packing the factors for
// each takes what the caches gave (bench/results/2026-11-28-cpu-amx.md).
constexpr std::int64_t kBlockBytesOfThread = std::int64_t{4} << 20;
// Fewer rows are no work for which a factor is worth being packed anew.
constexpr std::int64_t kLeastRows = 64;

// Do those bytes lie without gaps? Strides of single elements do not matter.
bool is_row_major(const Dims& dims, const Dims& strides) {
  const Dims wanted = row_major(dims);
  if (strides.count != dims.count) return false;
  for (std::int32_t d = 0; d < dims.count; ++d) {
    if (dims.at[d] != 1 && strides.at[d] != wanted.at[d]) return false;
  }
  return true;
}

std::int64_t elements(const Dims& dims) {
  std::int64_t n = 1;
  for (std::int32_t d = 0; d < dims.count; ++d) n *= dims.at[d];
  return n;
}

// The weights' rows are what is summed over, and stay whole.
bool has_axis(const OperandSpec& operand, std::int32_t axis) {
  const bool is_sum = operand.role == Role::kWeights && axis == operand.dims.count - 2;
  return !is_sum && operand.dims.at[axis] > 1;
}

bool is_product_of_views(const KernelSpec& spec) {
  if (spec.kind != KernelKind::kMatmul || spec.dtype != dnnl_f32 || !spec.result_is_view()) {
    return false;
  }
  if (spec.result.count > kMaxLoops + 1 || spec.result.is_empty()) return false;
  return std::all_of(spec.operands, spec.operands + spec.operand_count, [&](const auto& operand) {
    return operand.is_view() && operand.dtype == dnnl_f32 && !operand.dims.is_empty() &&
           operand.dims.count == spec.result.count;
  });
}

void cut_dims(const Blocks& blocks, std::int32_t whole_axis, Dims* dims) {
  for (std::int32_t axis = 0; axis < blocks.loop_count; ++axis) {
    if (axis != whole_axis && dims->at[axis] > 1) dims->at[axis] = blocks.loops[axis].size;
  }
}

// A dimension of one element is as wide as what lies after it, or in front as everything: the
// library compares strides with those of layouts that it knows.
void make_regular(const Dims& dims, Dims* strides) {
  std::int64_t span = 1;
  for (std::int32_t d = 0; d < dims.count; ++d) {
    if (dims.at[d] != 1) span = std::max(span, strides->at[d] * dims.at[d]);
  }
  for (std::int32_t d = dims.count; d-- > 0;) {
    if (dims.at[d] != 1) continue;
    strides->at[d] = d + 1 < dims.count ? strides->at[d + 1] * dims.at[d + 1] : 1;
  }
  for (std::int32_t d = 0; d < dims.count && dims.at[d] == 1; ++d) strides->at[d] = span;
}

void cut_product(const Blocks& blocks, KernelSpec* spec) {
  for (std::int32_t i = 0; i < spec->operand_count; ++i) {
    OperandSpec& operand = spec->operands[i];
    cut_dims(blocks, operand.role == Role::kWeights ? operand.dims.count - 2 : -1, &operand.dims);
    make_regular(operand.dims, &operand.strides);
  }
  cut_dims(blocks, -1, &spec->result);
  make_regular(spec->result, &spec->result_strides);
}

Blocks one_block(const Dims& scores) {
  Blocks blocks;
  blocks.loop_count = scores.count - 1;
  for (std::int32_t d = 0; d < blocks.loop_count; ++d) {
    blocks.loops[d] = {scores.at[d], scores.at[d]};
  }
  return blocks;
}

Loop& rows_of(Blocks& blocks) { return blocks.loops[blocks.loop_count - 1]; }
const Loop& rows_of(const Blocks& blocks) { return blocks.loops[blocks.loop_count - 1]; }

// By rows of all heads where they fit, as the library multiplies several matrices at a time faster
// than one; else by heads first.
Blocks large_blocks(const Dims& scores, std::int64_t budget) {
  Blocks blocks = one_block(scores);
  std::int64_t bytes = elements(scores) * kElementBytes;
  Loop& rows = rows_of(blocks);
  if (const std::int64_t fit = budget / (bytes / rows.extent); fit >= kLeastRows) {
    rows.divide(fit);
    return blocks;
  }
  for (std::int32_t d = 0; d < blocks.loop_count && bytes > budget; ++d) {
    bytes /= blocks.loops[d].extent;  // of one index
    const std::int64_t least = d + 1 < blocks.loop_count ? 1 : kLeastRows;
    blocks.loops[d].divide(std::max(budget / bytes, least));
  }
  return blocks;
}

// One matrix at a time, for masks that differ from one to another: what is added to it lies next to
// each other then, and the library adds it by its fast kernels.
Blocks single_matrices(const Dims& scores, std::int64_t budget) {
  Blocks blocks = one_block(scores);
  std::int64_t bytes = elements(scores) * kElementBytes;
  for (std::int32_t d = 0; d + 1 < blocks.loop_count; ++d) {
    blocks.loops[d].size = 1;
    bytes /= blocks.loops[d].extent;
  }
  Loop& rows = rows_of(blocks);
  if (bytes > budget) rows.divide(std::max(budget / (bytes / rows.extent), kLeastRows));
  return blocks;
}

// What is added to a product is read as if nothing lay between its elements.
bool are_added_without_gaps(const Attention& attention, const Blocks& blocks) {
  for (const AttentionPart part : {AttentionPart::kScores, AttentionPart::kResult}) {
    const KernelSpec& kernel = attention.of(part);
    for (std::int32_t i = 0; i < kernel.operand_count; ++i) {
      if (kernel.operands[i].role != Role::kPostOp) continue;
      Dims dims = kernel.operands[i].dims;
      cut_dims(blocks, -1, &dims);
      if (!is_row_major(dims, kernel.operands[i].strides)) return false;
    }
  }
  return true;
}

}  // namespace

std::int64_t Blocks::count() const {
  std::int64_t n = 1;
  for (std::int32_t i = 0; i < loop_count; ++i) n *= loops[i].count();
  return n;
}

std::int64_t Blocks::offset_bytes(std::int64_t i,
                                  const std::int64_t (&stride_bytes)[kMaxLoops]) const {
  std::int64_t offset = 0;
  for (std::int32_t loop = loop_count; loop-- > 0;) {
    offset += loops[loop].begin(i % loops[loop].count()) * stride_bytes[loop];
    i /= loops[loop].count();
  }
  return offset;
}

bool Attention::can_be_cut() const {
  const KernelSpec &scores = of(AttentionPart::kScores), &softmax = of(AttentionPart::kSoftmax),
                   &result = of(AttentionPart::kResult);
  if (!is_product_of_views(scores) || !is_product_of_views(result)) return false;
  const OperandSpec& factor = result.operands[result.find(Role::kSource)];
  const OperandSpec& source = softmax.operands[0];
  const Dims& all = scores.result;
  const std::int32_t last = all.count - 1;
  const bool are_alike = factor.dims == all && std::equal(all.at, all.at + last, result.result.at);
  if (!are_alike || !is_row_major(all, scores.result_strides) ||
      !is_row_major(all, factor.strides)) {
    return false;
  }
  return softmax.operand_count == 1 && softmax.post_op_count == 0 && source.is_view() &&
         is_row_major(source.dims, source.strides) && elements(source.dims) == elements(all) &&
         softmax.axis == source.dims.count - 1 && source.dims.at[softmax.axis] == all.at[last];
}

// A block's scores lie alone.
KernelSpec cut(const KernelSpec& whole, AttentionPart part, const Blocks& blocks) {
  KernelSpec block = whole;
  if (part != AttentionPart::kSoftmax) {
    cut_product(blocks, &block);
    OperandSpec& source = block.operands[block.find(Role::kSource)];
    if (part == AttentionPart::kScores) block.result_strides = row_major(block.result);
    if (part == AttentionPart::kResult) source.strides = row_major(source.dims);
    return block;
  }
  std::int64_t rows = 1;
  for (std::int32_t i = 0; i < blocks.loop_count; ++i) rows *= blocks.loops[i].size;
  OperandSpec& source = block.operands[0];
  block.result = source.dims = {2, {rows, whole.result.at[whole.axis]}};
  block.result_strides = source.strides = row_major(source.dims);
  block.axis = 1;
  return block;
}

Blocks choose_blocks(const Attention& attention, std::int32_t threads) {
  const Dims& scores = attention.of(AttentionPart::kScores).result;
  const std::int64_t budget = kBlockBytesOfThread * std::max<std::int32_t>(threads, 1);
  const Blocks whole = one_block(scores);
  const std::int64_t bytes = elements(scores) * kElementBytes;
  // Where two blocks would not be much smaller than the whole, nothing is gained.
  if (2 * bytes < 3 * budget || rows_of(whole).extent < kLeastRows) return whole;
  for (const Blocks& blocks : {large_blocks(scores, budget), single_matrices(scores, budget)}) {
    if (are_added_without_gaps(attention, blocks)) return blocks;
  }
  return whole;
}

void stride_bytes_of(const OperandSpec& operand, const Blocks& blocks,
                     std::int64_t (&stride_bytes)[kMaxLoops]) {
  for (std::int32_t axis = 0; axis < blocks.loop_count; ++axis) {
    stride_bytes[axis] = has_axis(operand, axis) ? operand.strides.at[axis] * kElementBytes : 0;
  }
}

void stride_bytes_of_result(const KernelSpec& product, const Blocks& blocks,
                            std::int64_t (&stride_bytes)[kMaxLoops]) {
  for (std::int32_t axis = 0; axis < blocks.loop_count; ++axis) {
    stride_bytes[axis] = product.result_strides.at[axis] * kElementBytes;
  }
}

}  // namespace tessera::backends::onednn
