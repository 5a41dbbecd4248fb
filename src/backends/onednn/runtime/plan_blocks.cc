// SPDX-License-Identifier: Apache-2.0
// Attention with scores that are larger than caches: its steps are those of one block, which the
// run repeats for all of them.
#include <algorithm>

#include "backends/onednn/runtime/plan.h"

namespace tessera::backends::onednn {

// Finds what is to be computed in blocks before the first step is added: what it reads must stay
// until its last kernel, where all of it is computed.
bool Plan::find_blocked() {
  const auto& nodes = graph_->nodes();
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].op != runtime::JsonOp::kKernel) continue;
    if (graph_->attr_text(nodes[node], "kernel", 0) != "softmax") continue;
    Attention found;
    bool is_found = false;
    if (!read_attention(node, &found, &is_found)) return false;
    if (!is_found || choose_blocks(found, threads_).count() == 1) continue;
    const auto [scores, softmax, result] = found.nodes;
    // One product may be the end of an attention and give the scores of the next.
    const auto ends_here = [last = scores](const Blocked& other) {
      return other.nodes[kAttentionParts - 1] == last;
    };
    const bool is_taken = std::any_of(blocked_.begin(), blocked_.end(), ends_here);
    if (is_taken) continue;
    if (!blocked_.push({{scores, softmax, result}})) return fail("out of memory");
    for (std::uint32_t i = 0; i < nodes[scores].input_count; ++i) {
      Value& read = values_[graph_->entry_id(nodes[scores].inputs[i])];
      read.last_node = std::max(read.last_node, result);
    }
  }
  return true;
}

// Does one kernel read it, and nobody outside?
bool Plan::is_handed_on(JsonEntry entry) const {
  const Value& value = values_[graph_->entry_id(entry)];
  return value.uses == 1 && value.head == kNone &&
         graph_->nodes()[entry.node].op == runtime::JsonOp::kKernel;
}

bool Plan::read_attention(std::uint32_t softmax, Attention* attention, bool* is_found) {
  const JsonNode& middle = graph_->nodes()[softmax];
  const JsonEntry out = {softmax, 0};
  if (middle.input_count != 1 || !is_handed_on(middle.inputs[0]) || !is_handed_on(out)) return true;
  const std::uint32_t reader = values_[graph_->entry_id(out)].last_node;
  const std::uint32_t nodes[kAttentionParts] = {middle.inputs[0].node, softmax, reader};
  for (std::size_t part = 0; part < kAttentionParts; ++part) {
    attention->nodes[part] = nodes[part];
    const JsonNode& node = graph_->nodes()[nodes[part]];
    if (!read_spec(*graph_, node, &attention->kernels[part], &error_)) return false;
  }
  if (!attention->can_be_cut()) return true;
  // A factor that is constant lies as the whole product wants it.
  const KernelSpec &scores = attention->of(AttentionPart::kScores),
                   &result = attention->of(AttentionPart::kResult);
  *is_found = result.operands[result.find(Role::kSource)].value.node == softmax &&
              !value_of(scores.operands[scores.find(Role::kWeights)]).is_constant &&
              !value_of(result.operands[result.find(Role::kWeights)]).is_constant;
  return true;
}

bool Plan::add_node(std::uint32_t node) {
  for (const Blocked& blocked : blocked_) {
    const auto [scores, softmax, result] = blocked.nodes;
    if (node == scores || node == softmax) return true;
    if (node == result) return add_blocked(softmax);
  }
  return add_kernel(node);
}

bool Plan::add_blocked(std::uint32_t softmax) {
  Attention whole;
  bool is_found = false;
  if (!read_attention(softmax, &whole, &is_found)) return false;
  const Blocks blocks = choose_blocks(whole, threads_);
  if (!runs_well(whole, blocks)) {
    return std::all_of(whole.nodes, whole.nodes + kAttentionParts,
                       [&](std::uint32_t node) { return add_kernel(node); });
  }
  const std::uint32_t last = whole.nodes[kAttentionParts - 1];
  if (!add_plain_versions(whole.of(AttentionPart::kScores), last) ||
      !add_plain_versions(whole.of(AttentionPart::kResult), last)) {
    return false;
  }
  const Repeat repeat = {static_cast<std::uint32_t>(steps_.size()), kAttentionParts, blocks};
  for (const AttentionPart part :
       {AttentionPart::kScores, AttentionPart::kSoftmax, AttentionPart::kResult}) {
    if (!add_block(whole, part, blocks)) return false;
  }
  keep_alive(repeat);
  return repeats_.push(repeat) || fail("out of memory");
}

// The library computes what it has no kernel for by its reference, which takes seconds.
bool Plan::runs_well(const Attention& whole, const Blocks& blocks) {
  for (const AttentionPart part : {AttentionPart::kScores, AttentionPart::kResult}) {
    dnnl_status_t status = dnnl_success;
    const dnnl_primitive_desc_t block =
        describe_kernel(cut(whole.of(part), part, blocks), {}, &status);
    if (block == nullptr) return false;
    const bool is_slow = is_reference(api_, block);
    api_.primitive_desc_destroy(block);
    if (is_slow) return false;
  }
  return true;
}

// Reorders are steps, and not to be repeated.
bool Plan::add_plain_versions(const KernelSpec& spec, std::uint32_t node) {
  for (std::int32_t i = 0; i < spec.operand_count; ++i) {
    const Value& value = value_of(spec.operands[i]);
    if (value.is_constant || value.versions == kNone) continue;
    const auto layout = plain(value);
    if (layout == nullptr) return fail("out of memory");
    if (version(graph_->entry_id(spec.operands[i].value), layout, node) == nullptr) return false;
  }
  return true;
}

bool Plan::add_block(const Attention& whole, AttentionPart part, const Blocks& blocks) {
  const KernelSpec& kernel = whole.of(part);
  LayoutChoice choice;
  choice.in_place = part == AttentionPart::kSoftmax;
  const std::uint32_t node = whole.nodes[static_cast<std::size_t>(part)];
  if (!add_described(cut(kernel, part, blocks), choice, node)) return false;
  if (part != AttentionPart::kSoftmax) set_strides(kernel, part, blocks);
  return true;
}

// How the operands of the last step move. Scores do not: of them only a block is there at a time.
void Plan::set_strides(const KernelSpec& whole, AttentionPart part, const Blocks& blocks) {
  const Step& step = steps_[steps_.size() - 1];
  for (std::uint32_t o = 0; o < step.operand_count; ++o) {
    Operand& operand = operands_[step.first_operand + o];
    if (operand.argument == DNNL_ARG_DST) {
      if (part == AttentionPart::kScores)
        buffers_[operand.index].bytes = size_bytes(api_, operand.layout);
      if (part == AttentionPart::kResult)
        stride_bytes_of_result(whole, blocks, operand.stride_bytes);
    }
    for (std::int32_t i = 0; i < whole.operand_count; ++i) {
      const bool is_scores =
          part == AttentionPart::kResult && whole.operands[i].role == Role::kSource;
      if (is_scores || argument(whole, i) != operand.argument) continue;
      stride_bytes_of(whole.operands[i], blocks, operand.stride_bytes);
    }
  }
}

// What one of the steps reads or writes, another reads or writes again.
void Plan::keep_alive(const Repeat& repeat) {
  const std::uint32_t last = repeat.first_step + repeat.step_count - 1;
  for (std::uint32_t s = repeat.first_step; s <= last; ++s) {
    for (std::uint32_t o = 0; o < steps_[s].operand_count; ++o) {
      const Operand& operand = operands_[steps_[s].first_operand + o];
      if (operand.place != Place::kBuffer) continue;
      Buffer& buffer = buffers_[operand.index];
      buffer.first_step = std::min(buffer.first_step, repeat.first_step);
      buffer.last_step = last;
    }
  }
}

}  // namespace tessera::backends::onednn
