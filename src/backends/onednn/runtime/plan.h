// SPDX-License-Identifier: Apache-2.0
// From a JSON graph to a sequence of primitives with their memory: layouts chosen and handed on
// from primitive to primitive, reorders where two disagree, intermediates placed in the workspace.
// The compiler makes the same plan as the runtime, to learn which layouts the weights should have
// and how large the workspace is.
#pragma once

#include "backends/onednn/runtime/blocks.h"
#include "backends/onednn/runtime/primitive.h"
#include "runtime/array.h"

namespace tessera::backends::onednn {

using runtime::Array;

enum class Place : std::uint8_t { kInput, kOutput, kConstant, kBuffer, kScratchpad, kZeros };

// An argument of a step; `index` counts inputs, outputs, Plan::constants() or Plan::buffers().
struct Operand {
  int argument;
  const_dnnl_memory_desc_t layout;
  Place place;
  std::uint32_t index;
  std::int64_t stride_bytes[kMaxLoops] = {};  // from block to block, where the step is repeated
};

struct Step {
  dnnl_primitive_desc_t primitive;
  std::uint32_t first_operand, operand_count;
  std::uint32_t node;  // of the JSON graph; for a reorder, the node that wants it
  bool is_reorder;
};

// Steps that run once for each block, one after the other.
struct Repeat {
  std::uint32_t first_step, step_count;
  Blocks blocks;
};

// An intermediate in the workspace, alive from one step to another, both included.
struct Buffer {
  std::uint64_t bytes, offset;
  std::uint32_t first_step, last_step;
};

// One use of a constant: the layout of its bytes, and the one that the primitive reads.
struct ConstantUse {
  std::uint32_t node;
  Dims dims;
  const_dnnl_memory_desc_t stored, wanted;
};

class Plan {
 public:
  // To run with so many threads.
  Plan(const Api& api, dnnl_engine_t engine, std::int32_t threads)
      : api_(api), engine_(engine), threads_(threads) {}
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  // False: error() says why. To be called once; `graph` must outlive the plan. Primitives are
  // chosen for the calling thread's number of OpenMP threads.
  [[nodiscard]] bool build(const JsonGraph& graph);
  const char* error() const { return error_.text(); }

  const Array<Step>& steps() const { return steps_; }
  const Array<Repeat>& repeats() const { return repeats_; }  // in the order of their steps
  const Array<Operand>& operands() const { return operands_; }
  const Array<Buffer>& buffers() const { return buffers_; }
  const Array<ConstantUse>& constants() const { return constants_; }
  std::uint32_t input_count() const { return input_count_; }
  std::uint32_t output_count() const { return static_cast<std::uint32_t>(graph_->heads().size()); }
  std::uint64_t scratchpad_offset() const { return scratchpad_offset_; }
  // Bytes of the largest argument that is at Place::kZeros.
  std::uint64_t zeros_bytes() const { return zeros_bytes_; }
  std::uint64_t workspace_bytes() const { return scratchpad_offset_ + scratchpad_bytes_; }

 private:
  // A value's bytes in one layout; others of the same value follow.
  struct Version {
    const_dnnl_memory_desc_t layout;
    Place place;
    std::uint32_t index, next;
  };
  struct Value {
    Dims dims;
    dnnl_data_type_t dtype;
    std::uint32_t versions;   // the first; kNone before the value is there
    std::uint32_t last_node;  // that reads it
    std::uint32_t uses;
    std::uint32_t head;  // which output of the region it is, or kNone
    bool is_constant;
  };
  // An attention that is computed in blocks, in the place of its last kernel.
  struct Blocked {
    std::uint32_t nodes[kAttentionParts];
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  bool fail(const char* what);
  bool read_values();
  bool read_value(std::uint32_t node, std::uint32_t output);
  bool find_blocked();
  bool read_attention(std::uint32_t softmax, Attention* attention, bool* is_found);
  bool is_handed_on(JsonEntry entry) const;
  bool add_blocked(std::uint32_t softmax);
  bool runs_well(const Attention& whole, const Blocks& blocks);
  bool add_plain_versions(const KernelSpec& spec, std::uint32_t node);
  bool add_block(const Attention& whole, AttentionPart part, const Blocks& blocks);
  void set_strides(const KernelSpec& whole, AttentionPart part, const Blocks& blocks);
  void keep_alive(const Repeat& repeat);
  bool add_node(std::uint32_t node);
  bool add_kernel(std::uint32_t node);
  bool add_described(const KernelSpec& spec, const LayoutChoice& choice, std::uint32_t node);
  bool add_empty_result(std::uint32_t node);
  static void without_zero_point(KernelSpec* spec);
  static void without_empty_sum(KernelSpec* spec);
  static void without_empty_source(KernelSpec* spec);
  bool choose_layouts(const KernelSpec& spec, LayoutChoice* choice);
  bool choose_sources(const KernelSpec& spec, LayoutChoice* choice);
  bool choose_sum(const KernelSpec& spec, std::uint32_t node, LayoutChoice* choice);
  dnnl_primitive_desc_t describe_kernel(const KernelSpec& spec, const LayoutChoice& choice,
                                        dnnl_status_t* status);
  bool free_weights(const KernelSpec& spec, LayoutChoice* choice);
  bool add_operands(const KernelSpec& spec, const LayoutChoice& choice, Step* step);
  bool layout_tag(std::uint32_t constant, std::int64_t* tag);
  bool add_constant(const OperandSpec& operand, const_dnnl_memory_desc_t wanted);
  bool add_result(const KernelSpec& spec, const LayoutChoice& choice, Step* step);
  bool add_step(Step step, std::uint32_t first_operand);
  bool finish_outputs();
  bool place_buffers();

  bool new_version(Value& value, Version version);
  bool new_buffer(const_dnnl_memory_desc_t layout, std::uint32_t* index);
  // The value in that layout: there already, or by a reorder step added now.
  const Version* version(std::uint32_t value, const_dnnl_memory_desc_t layout,
                         std::uint32_t for_node);
  const Version* find_version(const Value& value, const_dnnl_memory_desc_t layout) const;
  void touch(Place place, std::uint32_t index);
  const_dnnl_memory_desc_t keep(dnnl_memory_desc_t desc);
  const_dnnl_memory_desc_t plain(const Value& value) {
    return keep(make_plain(api_, value.dims, value.dtype));
  }
  const_dnnl_memory_desc_t wanted_layout(const KernelSpec& spec, std::int32_t operand,
                                         dnnl_primitive_desc_t primitive);
  const_dnnl_memory_desc_t argument_layout(dnnl_primitive_desc_t primitive, int argument) const;
  Value& value_of(const OperandSpec& operand) { return values_[graph_->entry_id(operand.value)]; }

  const Api& api_;
  dnnl_engine_t engine_;
  std::int32_t threads_;
  const JsonGraph* graph_ = nullptr;
  Array<Value> values_;  // by entry id
  Array<Version> versions_;
  Array<Step> steps_;
  Array<Repeat> repeats_;
  Array<Blocked> blocked_;
  Array<Operand> operands_;
  Array<Buffer> buffers_;
  Array<ConstantUse> constants_;
  Array<dnnl_memory_desc_t> kept_;
  std::uint32_t input_count_ = 0;
  std::uint64_t scratchpad_bytes_ = 0, scratchpad_offset_ = 0, zeros_bytes_ = 0;
  TextBuffer error_;
};

}  // namespace tessera::backends::onednn
