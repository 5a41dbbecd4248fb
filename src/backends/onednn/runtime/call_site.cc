// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/call_site.h"

#include <cstdlib>
#include <cstring>

namespace tessera::backends::onednn {

CallSite::~CallSite() {
  const Api& api = library_.api();
  for (dnnl_memory_t memory : memories_) api.memory_destroy(memory);
  for (dnnl_primitive_t primitive : primitives_) api.primitive_destroy(primitive);
  std::free(own_workspace_);
}

bool CallSite::create(const tessera_artifact_view& artifact, TextBuffer* error) {
  JsonGraph graph;
  if (!graph.parse({static_cast<const char*>(artifact.payload), artifact.payload_bytes})) {
    error->add("%s", graph.error());
    return false;
  }
  Plan plan(library_.api(), library_.engine());
  if (!plan.build(graph)) {
    error->add("%s", plan.error());
    return false;
  }
  Array<const void*> constants;
  if (!resolve_constants(plan, graph, artifact, &constants, error)) return false;
  if (!create_steps(plan, constants, error)) return false;
  if (collect_bindings(plan) && reserve_workspace(plan, graph)) return true;
  error->add("out of memory");
  return false;
}

// The address of each constant use: in the file, or brought into the layout that is wanted here.
bool CallSite::resolve_constants(const Plan& plan, const JsonGraph& graph,
                                 const tessera_artifact_view& artifact,
                                 Array<const void*>* addresses, TextBuffer* error) {
  for (const ConstantUse& use : plan.constants()) {
    const char* name = graph.nodes()[use.node].name.data();
    const void* bytes = nullptr;
    for (std::int32_t i = 0; i < artifact.constant_count && bytes == nullptr; ++i) {
      if (std::strcmp(artifact.constants[i].name, name) == 0) {
        const tessera_tensor& tensor = artifact.constants[i].tensor;
        bytes = static_cast<const char*>(tensor.data) + tensor.byte_offset;
      }
    }
    if (bytes == nullptr) {
      error->add("the library has no constant `%s`", name);
      return false;
    }
    if (library_.api().memory_desc_equal(use.stored, use.wanted) == 0) {
      bytes = library_.reordered(bytes, use.stored, use.wanted, error);
      if (bytes == nullptr) return false;
    }
    if (!addresses->push(bytes)) return false;
  }
  return true;
}

bool CallSite::create_steps(const Plan& plan, const Array<const void*>& constants,
                            TextBuffer* error) {
  for (const Operand& operand : plan.operands()) {
    if (!create_memory(operand, constants, error)) return false;
  }
  for (const Step& step : plan.steps()) {
    dnnl_primitive_t primitive = nullptr;
    const dnnl_status_t status = library_.api().primitive_create(&primitive, step.primitive);
    if (status != dnnl_success) {
      error->add("a primitive could not be created: %s", status_text(status));
      return false;
    }
    if (!primitives_.push(primitive)) {
      library_.api().primitive_destroy(primitive);
      return false;
    }
    if (!steps_.push({primitive, step.first_operand, step.operand_count})) return false;
  }
  return true;
}

bool CallSite::create_memory(const Operand& operand, const Array<const void*>& constants,
                             TextBuffer* error) {
  void* address = nullptr;  // set by bind() before the first run
  if (operand.place == Place::kConstant) address = const_cast<void*>(constants[operand.index]);
  dnnl_memory_t memory = nullptr;
  const dnnl_status_t status =
      library_.api().memory_create(&memory, operand.layout, library_.engine(), address);
  if (status != dnnl_success) {
    error->add("a memory object could not be created: %s", status_text(status));
    return false;
  }
  if (!memories_.push(memory)) {
    library_.api().memory_destroy(memory);
    return false;
  }
  return arguments_.push({operand.argument, memory});
}

bool CallSite::collect_bindings(const Plan& plan) {
  const std::uint32_t inputs = plan.input_count(), tensors = inputs + plan.output_count();
  if (!bound_.allocate(tensors + 1)) return false;
  for (std::uint32_t slot = 0; slot <= tensors; ++slot) {
    bound_[slot].first = static_cast<std::uint32_t>(bindings_.size());
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      const Operand& operand = plan.operands()[i];
      Binding binding = {memories_[i], 0};
      std::uint32_t at = tensors;
      if (operand.place == Place::kInput) at = operand.index;
      if (operand.place == Place::kOutput) at = inputs + operand.index;
      if (operand.place == Place::kBuffer) binding.offset = plan.buffers()[operand.index].offset;
      if (operand.place == Place::kScratchpad) binding.offset = plan.scratchpad_offset();
      if (operand.place == Place::kConstant || at != slot) continue;
      if (!bindings_.push(binding)) return false;
    }
    bound_[slot].count = static_cast<std::uint32_t>(bindings_.size()) - bound_[slot].first;
  }
  return true;
}

// The compiler declared the workspace that its plan needed; another CPU may need more.
bool CallSite::reserve_workspace(const Plan& plan, const JsonGraph& graph) {
  std::int64_t declared = 0;
  for (const JsonNode& node : graph.nodes()) {
    if (node.op == runtime::JsonOp::kKernel) {
      declared = graph.attr_int(node, "workspace_bytes", 0);
      break;
    }
  }
  if (plan.workspace_bytes() <= static_cast<std::uint64_t>(declared)) return true;
  own_workspace_ = std::aligned_alloc(64, (plan.workspace_bytes() + 63) / 64 * 64);
  return own_workspace_ != nullptr;
}

void CallSite::bind(Bound& bound, void* address) {
  bound.address = address;
  for (std::uint32_t i = 0; i < bound.count; ++i) {
    const Binding& binding = bindings_[bound.first + i];
    library_.api().memory_set_data_handle(binding.memory,
                                          static_cast<char*>(address) + binding.offset);
  }
}

bool CallSite::run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                   TextBuffer* error) {
  const std::size_t slots = bound_.size() - 1;
  if (static_cast<std::size_t>(count) != slots) {
    error->add("called with %d tensors instead of %d", count, static_cast<int>(slots));
    return false;
  }
  for (std::size_t i = 0; i < slots; ++i) {
    char* address = static_cast<char*>(tensors[i]->data) + tensors[i]->byte_offset;
    if (bound_[i].address != address) bind(bound_[i], address);
  }
  void* workspace = own_workspace_ != nullptr ? own_workspace_ : call.workspace;
  if (bound_[slots].address != workspace) bind(bound_[slots], workspace);
  const auto execute = library_.api().primitive_execute;
  for (const RunStep& step : steps_) {
    const dnnl_status_t status = execute(step.primitive, stream_, step.argument_count,
                                         arguments_.data() + step.first_argument);
    if (status != dnnl_success) {
      error->add("a primitive failed: %s", status_text(status));
      return false;
    }
  }
  return true;
}

}  // namespace tessera::backends::onednn
