// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/plan.h"

#include <algorithm>

#include "runtime/occupancy.h"

namespace tessera::backends::onednn {

Plan::~Plan() {
  for (const Step& step : steps_) api_.primitive_desc_destroy(step.primitive);
  for (dnnl_memory_desc_t desc : kept_) api_.memory_desc_destroy(desc);
}

bool Plan::fail(const char* what) {
  error_.add("%s", what);
  return false;
}

bool Plan::build(const JsonGraph& graph) {
  graph_ = &graph;
  if (!read_values() || !find_blocked()) return false;
  for (std::uint32_t node = 0; node < graph.nodes().size(); ++node) {
    if (graph.nodes()[node].op == runtime::JsonOp::kKernel && !add_node(node)) return false;
  }
  if (!finish_outputs()) return false;
  return place_buffers();
}

const_dnnl_memory_desc_t Plan::keep(dnnl_memory_desc_t desc) {
  if (desc == nullptr || kept_.push(desc)) return desc;
  api_.memory_desc_destroy(desc);
  return nullptr;
}

// ---- Values
// --------------------------------------------------------------------------------------

bool Plan::read_values() {
  const auto& nodes = graph_->nodes();
  std::uint32_t count = 0;
  for (const JsonNode& node : nodes) count += node.output_count;
  if (!values_.allocate(count)) return fail("out of memory");
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    for (std::uint32_t output = 0; output < nodes[n].output_count; ++output) {
      if (!read_value(n, output)) return false;
    }
    for (std::uint32_t i = 0; i < nodes[n].input_count; ++i) {
      Value& read = values_[graph_->entry_id(nodes[n].inputs[i])];
      read.last_node = n;
      ++read.uses;
    }
  }
  for (std::uint32_t head = 0; head < graph_->heads().size(); ++head) {
    values_[graph_->entry_id(graph_->heads()[head])].head = head;
  }
  return true;
}

bool Plan::read_value(std::uint32_t n, std::uint32_t output) {
  const JsonNode& node = graph_->nodes()[n];
  Value& value = values_[graph_->entry_id({n, output})];
  value.versions = value.head = kNone;
  value.is_constant = node.op == runtime::JsonOp::kConst;
  value.dims.count = graph_->shape(node, output, value.dims.at, DNNL_MAX_NDIMS);
  if (value.dims.count < 0) return fail("a value of the graph has no shape");
  if (value.dims.count == 0) value.dims = {1, {1}};  // oneDNN has no rank 0
  value.dtype = parse_data_type(graph_->dtype(node, output));
  if (value.dtype == dnnl_data_type_undef) return fail("a value of an unknown data type");
  if (node.op != runtime::JsonOp::kInput) return true;
  return new_version(value, {plain(value), Place::kInput, input_count_++, kNone});
}

bool Plan::new_version(Value& value, Version version) {
  if (version.layout == nullptr) return fail("out of memory");
  const auto index = static_cast<std::uint32_t>(versions_.size());
  if (!versions_.push(version)) return fail("out of memory");
  if (value.versions == kNone) {
    value.versions = index;
    return true;
  }
  std::uint32_t last = value.versions;
  while (versions_[last].next != kNone) last = versions_[last].next;
  versions_[last].next = index;
  return true;
}

bool Plan::new_buffer(const_dnnl_memory_desc_t layout, std::uint32_t* index) {
  *index = static_cast<std::uint32_t>(buffers_.size());
  const auto step = static_cast<std::uint32_t>(steps_.size());
  if (buffers_.push({size_bytes(api_, layout), 0, step, step})) return true;
  return fail("out of memory");
}

// The step that is being added reads or writes it.
void Plan::touch(Place place, std::uint32_t index) {
  if (place == Place::kBuffer)
    buffers_[index].last_step = static_cast<std::uint32_t>(steps_.size());
}

const Plan::Version* Plan::find_version(const Value& value, const_dnnl_memory_desc_t layout) const {
  for (std::uint32_t v = value.versions; v != kNone; v = versions_[v].next) {
    if (api_.memory_desc_equal(versions_[v].layout, layout) != 0) return &versions_[v];
  }
  return nullptr;
}

const Plan::Version* Plan::version(std::uint32_t id, const_dnnl_memory_desc_t layout,
                                   std::uint32_t for_node) {
  Value& value = values_[id];
  if (value.versions == kNone) {
    fail("a value is read before it is computed");
    return nullptr;
  }
  if (const Version* there = find_version(value, layout)) return there;
  const Version from = versions_[value.versions];
  dnnl_status_t status = dnnl_success;
  const dnnl_primitive_desc_t reorder =
      describe_reorder(api_, engine_, from.layout, layout, &status);
  if (reorder == nullptr) {
    error_.add("no reorder between two layouts: %s", status_text(status));
    return nullptr;
  }
  const auto first = static_cast<std::uint32_t>(operands_.size());
  Version to = {layout, Place::kBuffer, 0, kNone};
  const bool added = new_buffer(layout, &to.index) &&
                     operands_.push({DNNL_ARG_FROM, from.layout, from.place, from.index}) &&
                     operands_.push({DNNL_ARG_TO, to.layout, to.place, to.index});
  touch(from.place, from.index);
  touch(to.place, to.index);
  if (!add_step({reorder, first, 0, for_node, true}, first) || !added || !new_version(value, to)) {
    return nullptr;
  }
  return find_version(value, layout);
}

// ---- Kernels
// -------------------------------------------------------------------------------------

const_dnnl_memory_desc_t Plan::argument_layout(dnnl_primitive_desc_t primitive, int arg) const {
  return api_.primitive_desc_query_md(primitive, dnnl_query_exec_arg_md, arg);
}

bool Plan::add_kernel(std::uint32_t node) {
  KernelSpec spec;
  if (!read_spec(*graph_, graph_->nodes()[node], &spec, &error_)) return false;
  if (spec.result.is_empty()) return add_empty_result(node);
  if (spec.kind == KernelKind::kMatmul) without_empty_sum(&spec);
  if (spec.is_convolution()) without_empty_source(&spec);
  LayoutChoice choice;
  if (!choose_layouts(spec, &choice) || !choose_sum(spec, node, &choice)) return false;
  if (spec.kind == KernelKind::kConcat && !choose_sources(spec, &choice)) return false;
  return add_described(spec, choice, node);
}

bool Plan::add_described(const KernelSpec& spec, const LayoutChoice& choice, std::uint32_t node) {
  dnnl_status_t status = dnnl_success;
  Step step = {describe_kernel(spec, choice, &status), 0, 0, node, false};
  if (step.primitive == nullptr) {
    error_.add("oneDNN has no implementation of `%s`: %s", graph_->nodes()[node].name.data(),
               status_text(status));
    return false;
  }
  const bool added = add_operands(spec, choice, &step) && add_result(spec, choice, &step);
  // Taken into steps_ in any case, so that the primitive is destroyed with the plan.
  return add_step(step, step.first_operand) && added;
}

// Nothing is to be computed, and not every primitive can be made for that.
bool Plan::add_empty_result(std::uint32_t node) {
  Value& value = values_[graph_->entry_id({node, 0})];
  Version result = {plain(value), Place::kOutput, value.head, kNone};
  if (value.head == kNone) {
    result.place = Place::kBuffer;
    if (result.layout == nullptr || !new_buffer(result.layout, &result.index)) return false;
  }
  return new_version(value, result);
}

// The library says nothing of zero points and scales.
const_dnnl_memory_desc_t Plan::wanted_layout(const KernelSpec& spec, std::int32_t i,
                                             dnnl_primitive_desc_t primitive) {
  const OperandSpec& operand = spec.operands[i];
  if (operand.role != Role::kZeroPoint && operand.role != Role::kWeightScale) {
    return argument_layout(primitive, argument(spec, i));
  }
  return keep(make_plain(api_, operand.dims, operand.dtype));
}

bool Plan::add_operands(const KernelSpec& spec, const LayoutChoice& choice, Step* step) {
  Operand arguments[kMaxOperands];
  std::int32_t count = 0;
  // Reorders come first: they are steps, and have operands, of their own.
  for (std::int32_t i = 0; i < spec.operand_count; ++i) {
    if (choice.sum_in_place && spec.post_ops[0].operand == i) continue;
    const OperandSpec& operand = spec.operands[i];
    const int arg = argument(spec, i);
    const auto wanted = wanted_layout(spec, i, step->primitive);
    if (wanted == nullptr) return fail("a primitive does not know one of its arguments");
    if (operand.is_zeros) {
      zeros_bytes_ = std::max(zeros_bytes_, size_bytes(api_, wanted));
      arguments[count++] = {arg, wanted, Place::kZeros, 0};
      continue;
    }
    if (value_of(operand).is_constant) {
      if (!add_constant(operand, wanted)) return false;
      const auto use = static_cast<std::uint32_t>(constants_.size() - 1);
      arguments[count++] = {arg, wanted, Place::kConstant, use};
      continue;
    }
    const auto bytes_as = operand.is_view() ? plain(value_of(operand)) : wanted;
    if (bytes_as == nullptr) return fail("out of memory");
    const Version* found = version(graph_->entry_id(operand.value), bytes_as, step->node);
    if (found == nullptr) return false;
    arguments[count++] = {arg, wanted, found->place, found->index};
  }
  if (choice.sum_in_place) {
    const auto wanted = argument_layout(step->primitive, DNNL_ARG_DST);
    const OperandSpec& residual = spec.operands[spec.post_ops[0].operand];
    const auto bytes_as = residual.is_view() ? plain(value_of(residual)) : wanted;
    if (version(graph_->entry_id(residual.value), bytes_as, step->node) == nullptr) return false;
  }
  step->first_operand = static_cast<std::uint32_t>(operands_.size());
  for (std::int32_t i = 0; i < count; ++i) {
    touch(arguments[i].place, arguments[i].index);
    if (!operands_.push(arguments[i])) return fail("out of memory");
  }
  return true;
}

// The layout of a constant's bytes; -1: row-major.
bool Plan::layout_tag(std::uint32_t constant, std::int64_t* tag) {
  *tag = -1;
  return graph_->attr_int(graph_->nodes()[constant], "layout_tag", tag) ||
         fail("a constant's layout is no number");
}

bool Plan::add_constant(const OperandSpec& operand, const_dnnl_memory_desc_t wanted) {
  const std::uint32_t id = operand.value.node;
  std::int64_t tag = -1;
  if (!layout_tag(id, &tag)) return false;
  ConstantUse use = {id, operand.dims, nullptr, wanted};
  if (tag >= 0) {
    use.stored = keep(make_tagged(api_, operand.dims, operand.dtype, static_cast<int>(tag)));
  } else {
    use.stored =
        keep(operand.is_view() ? make_strided(api_, operand.dims, operand.dtype, operand.strides)
                               : make_plain(api_, operand.dims, operand.dtype));
  }
  if (use.stored == nullptr)
    return fail("a constant is in a layout that this oneDNN does not know");
  return constants_.push(use) || fail("out of memory");
}

bool Plan::add_result(const KernelSpec& spec, const LayoutChoice& choice, Step* step) {
  Value& value = values_[graph_->entry_id({step->node, 0})];
  const auto layout = argument_layout(step->primitive, DNNL_ARG_DST);
  const auto row_major = plain(value);
  if (row_major == nullptr) return fail("out of memory");
  Version result = {spec.result_is_view() ? row_major : layout, Place::kBuffer, 0, kNone};
  if (choice.sum_in_place) {
    const OperandSpec& residual = spec.operands[spec.post_ops[0].operand];
    const auto bytes_as = residual.is_view() ? plain(value_of(residual)) : layout;
    result.index = find_version(value_of(residual), bytes_as)->index;
  } else if (choice.in_place) {
    Value& source = value_of(spec.operands[spec.find(Role::kSource)]);
    result.index = find_version(source, plain(source))->index;
  } else if (value.head != kNone && api_.memory_desc_equal(result.layout, row_major) != 0) {
    result.place = Place::kOutput;
    result.index = value.head;
  } else if (!new_buffer(result.layout, &result.index)) {
    return false;
  }
  touch(result.place, result.index);
  return new_version(value, result) &&
         (operands_.push({DNNL_ARG_DST, layout, result.place, result.index}) ||
          fail("out of memory"));
}

// Completes a step whose operands begin at `first_operand`.
bool Plan::add_step(Step step, std::uint32_t first_operand) {
  const auto scratchpad = argument_layout(step.primitive, DNNL_ARG_SCRATCHPAD);
  const std::uint64_t bytes = scratchpad != nullptr ? size_bytes(api_, scratchpad) : 0;
  bool added = true;
  if (bytes > 0) {
    added = operands_.push({DNNL_ARG_SCRATCHPAD, scratchpad, Place::kScratchpad, 0});
    scratchpad_bytes_ = std::max(scratchpad_bytes_, bytes);
  }
  step.first_operand = first_operand;
  step.operand_count = static_cast<std::uint32_t>(operands_.size()) - first_operand;
  if (!steps_.push(step)) {
    api_.primitive_desc_destroy(step.primitive);
    added = false;
  }
  return added || fail("out of memory");
}

// Outputs leave the region row-major.
bool Plan::finish_outputs() {
  for (std::uint32_t head = 0; head < graph_->heads().size(); ++head) {
    const JsonEntry entry = graph_->heads()[head];
    const Value& value = values_[graph_->entry_id(entry)];
    if (value.versions == kNone) return fail("an output is not computed");
    bool written = false;
    for (std::uint32_t v = value.versions; v != kNone; v = versions_[v].next) {
      written |= versions_[v].place == Place::kOutput;
    }
    if (written) continue;
    const Version from = versions_[value.versions];
    const auto row_major = plain(value);
    dnnl_status_t status = dnnl_success;
    const auto reorder = describe_reorder(api_, engine_, from.layout, row_major, &status);
    if (reorder == nullptr) return fail("no reorder of an output to row-major");
    const auto first = static_cast<std::uint32_t>(operands_.size());
    touch(from.place, from.index);
    const bool added = operands_.push({DNNL_ARG_FROM, from.layout, from.place, from.index}) &&
                       operands_.push({DNNL_ARG_TO, row_major, Place::kOutput, head});
    if (!add_step({reorder, first, 0, entry.node, true}, first) || !added) return false;
  }
  return true;
}

// ---- Memory
// --------------------------------------------------------------------------------------

// The largest first, each at the lowest offset that is free while it lives.
bool Plan::place_buffers() {
  constexpr std::int64_t kAlign = 64;
  Array<std::uint32_t> order;
  Array<std::int64_t> ticks;
  runtime::Occupancy taken;
  if (!order.allocate(buffers_.size())) return fail("out of memory");
  for (std::uint32_t i = 0; i < buffers_.size(); ++i) {
    order[i] = i;
    if (!ticks.push(buffers_[i].first_step) || !ticks.push(buffers_[i].last_step)) {
      return fail("out of memory");
    }
  }
  if (!taken.create(ticks.data(), ticks.size(), kAlign)) return fail("out of memory");
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return buffers_[a].bytes != buffers_[b].bytes ? buffers_[a].bytes > buffers_[b].bytes : a < b;
  });
  for (const std::uint32_t i : order) {
    Buffer& buffer = buffers_[i];
    const runtime::TickRange live = {buffer.first_step, buffer.last_step};
    const runtime::Wanted wanted = {&live, 1, static_cast<std::int64_t>(buffer.bytes), kAlign};
    const std::int64_t offset = taken.first_gap(wanted);
    if (!taken.add(wanted, offset)) return fail("out of memory");
    buffer.offset = static_cast<std::uint64_t>(offset);
    const std::int64_t end = runtime::round_up(offset + wanted.bytes, kAlign);
    scratchpad_offset_ = std::max(scratchpad_offset_, static_cast<std::uint64_t>(end));
  }
  return true;
}

}  // namespace tessera::backends::onednn
