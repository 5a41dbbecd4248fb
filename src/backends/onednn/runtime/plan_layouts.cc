// SPDX-License-Identifier: Apache-2.0
// Which layouts a kernel is described with: those that its sources have, what the library chooses,
// and the weights as they are stored.
#include "backends/onednn/runtime/plan.h"

namespace tessera::backends::onednn {

// Weights lie as the likely sizes want them. Where the library runs these sizes by another
// implementation than it would with weights of its own choice, which may be its reference, a copy
// of them in another layout is worth its memory.
dnnl_primitive_desc_t Plan::describe_kernel(const KernelSpec& spec, const LayoutChoice& choice,
                                            dnnl_status_t* status) {
  const dnnl_primitive_desc_t stored = describe(api_, engine_, spec, choice, status);
  LayoutChoice other = choice;
  if (!choice.has_stored_weights || !free_weights(spec, &other)) return stored;
  dnnl_status_t other_status = dnnl_success;
  const dnnl_primitive_desc_t copied = describe(api_, engine_, spec, other, &other_status);
  if (copied == nullptr) return stored;
  const bool stays =
      stored != nullptr && implementation(api_, stored) == implementation(api_, copied);
  const dnnl_primitive_desc_t left = stays ? copied : stored;
  if (left != nullptr) api_.primitive_desc_destroy(left);
  return stays ? stored : copied;
}

// Lets the library choose where it was to read the weights as they are stored; false: out of
// memory.
bool Plan::free_weights(const KernelSpec& spec, LayoutChoice* choice) {
  for (std::int32_t i = 0; i < spec.operand_count; ++i) {
    const OperandSpec& operand = spec.operands[i];
    if (operand.role != Role::kWeights || choice->operands[i] == nullptr) continue;
    choice->operands[i] = keep(make_any(api_, operand.dims, operand.dtype));
    if (choice->operands[i] == nullptr) return false;
  }
  return true;
}

// Images that lie differently are brought into one layout: the library concatenates them by its
// reference. Where one has its channels innermost, a convolution wanted it so.
bool Plan::choose_sources(const KernelSpec& spec, LayoutChoice* choice) {
  Array<const_dnnl_memory_desc_t> layouts;
  bool some = false;
  for (std::int32_t i = 0; i < spec.operand_count; ++i) {
    const OperandSpec& operand = spec.operands[i];
    const Value& value = value_of(operand);
    const auto layout = keep(make_channels_last(api_, operand.dims, operand.dtype));
    if (layout == nullptr || value.is_constant || value.versions == kNone) return true;
    if (!layouts.push(layout)) return fail("out of memory");
    const bool is_plain = api_.memory_desc_equal(layout, plain(value)) != 0;
    some |= !is_plain && find_version(value, layout) != nullptr;
  }
  for (std::int32_t i = 0; some && i < spec.operand_count; ++i) {
    choice->operands[i] = layouts[static_cast<std::size_t>(i)];
  }
  return true;
}

// Where the source's layout decides the kernel's, and where the library decides.
bool Plan::choose_layouts(const KernelSpec& spec, LayoutChoice* choice) {
  const std::int32_t source = spec.find(Role::kSource);
  for (std::int32_t i = 0; i < spec.operand_count; ++i) {
    const OperandSpec& operand = spec.operands[i];
    if (operand.is_zeros) continue;
    const Value& value = value_of(operand);
    if (value.is_constant) {
      if (operand.role == Role::kWeights) {
        // Plans of several shapes all read the weights as they are stored.
        std::int64_t tag = -1;
        const bool several = graph_->sizes().entries().size() != 0;
        if (several && !layout_tag(operand.value.node, &tag)) return false;
        choice->operands[i] =
            keep(tag >= 0 ? make_tagged(api_, operand.dims, operand.dtype, static_cast<int>(tag))
                          : make_any(api_, operand.dims, operand.dtype));
        if (choice->operands[i] == nullptr) return fail("out of memory");
        choice->has_stored_weights |= tag >= 0;
      }
      continue;
    }
    if (spec.kind == KernelKind::kPooling && operand.is_bytes()) {
      // The library has no other kernels for integers.
      choice->operands[i] = keep(make_channels_last(api_, operand.dims, operand.dtype));
      if (choice->operands[i] == nullptr) return fail("pooling of another rank");
      continue;
    }
    if (operand.is_view() || value.versions == kNone) continue;
    if (spec.is_convolution() || operand.role == Role::kPostOp) continue;
    // A gate: the library lays it out as the source.
    const bool is_widened = operand.role == Role::kSecondSource && operand.dims != spec.result;
    if (is_widened) continue;
    const Value* leader = &value;
    // A source that is constant lies as it is stored, and has no layouts to choose from.
    if (operand.role == Role::kSecondSource && source >= 0 &&
        value_of(spec.operands[source]).versions != kNone) {
      leader = &value_of(spec.operands[source]);
    }
    choice->operands[i] = versions_[leader->versions].layout;
  }
  return true;
}

// A residual that nobody reads afterwards is added in place: the library reads it as the
// destination's old content.
bool Plan::choose_sum(const KernelSpec& spec, std::uint32_t node, LayoutChoice* choice) {
  if (spec.post_op_count == 0 || spec.post_ops[0].algorithm != dnnl_binary_add) return true;
  if (!spec.makes_floats() || spec.is_integer()) return true;
  const OperandSpec& residual = spec.operands[spec.post_ops[0].operand];
  if (residual.dtype != spec.dtype) return true;
  const Value& value = value_of(residual);
  if (value.versions == kNone || versions_[value.versions].place != Place::kBuffer) return true;
  if (value.last_node != node || value.head != kNone) return true;
  for (std::int32_t i = 0; i < spec.operand_count; ++i) {
    if (i != spec.post_ops[0].operand && &value_of(spec.operands[i]) == &value) return true;
  }
  if (residual.dims != spec.result || residual.is_view() != spec.result_is_view()) return true;
  if (residual.is_view() && residual.strides != spec.result_strides) return true;
  choice->sum_in_place = true;
  return true;
}

}  // namespace tessera::backends::onednn
