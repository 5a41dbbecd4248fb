// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/call_site.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace tessera::backends::onednn {
namespace {

// What the compiler says of the region stands in its first kernel; what it does not say leaves
// `value` as it is. False: it is no number.
bool read_declared(const JsonGraph& graph, const char* name, std::int64_t* value) {
  const auto& nodes = graph.nodes();
  const auto* first = std::find_if(nodes.begin(), nodes.end(), [](const JsonNode& node) {
    return node.op == runtime::JsonOp::kKernel;
  });
  return first == nodes.end() || graph.attr_int(*first, name, value);
}

}  // namespace

SizedRegion::~SizedRegion() {
  const Api& api = library_.api();
  for (dnnl_memory_t memory : memories_) api.memory_destroy(memory);
  for (dnnl_primitive_t primitive : primitives_) api.primitive_destroy(primitive);
  std::free(own_workspace_);
  std::free(zeros_);
}

bool SizedRegion::create(const JsonGraph& graph, const tessera_artifact_view& artifact,
                         std::int32_t threads, TextBuffer* error) {
  for (const runtime::SizeTable::Entry& size : graph.sizes().entries()) {
    if (!sizes_.push(size.value)) return false;
  }
  Plan plan(library_.api(), library_.engine(), threads);
  if (!plan.build(graph)) {
    error->add("%s", plan.error());
    return false;
  }
  if (plan.zeros_bytes() > 0) {
    zeros_ = std::calloc(1, plan.zeros_bytes());
    if (zeros_ == nullptr) return false;
  }
  Array<const void*> constants;
  if (!resolve_constants(plan, graph, artifact, &constants, error)) return false;
  if (!create_steps(plan, constants, error)) return false;
  if (collect_bindings(plan) && collect_moving(plan) && reserve_workspace(plan, graph, error)) {
    return true;
  }
  if (error->text()[0] == '\0') error->add("out of memory");
  return false;
}

// The address of each constant use: in the file, or brought into the layout that is wanted here.
bool SizedRegion::resolve_constants(const Plan& plan, const JsonGraph& graph,
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

bool SizedRegion::create_steps(const Plan& plan, const Array<const void*>& constants,
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

bool SizedRegion::create_memory(const Operand& operand, const Array<const void*>& constants,
                                TextBuffer* error) {
  void* address = nullptr;  // set by bind() before the first run
  if (operand.place == Place::kConstant) address = const_cast<void*>(constants[operand.index]);
  if (operand.place == Place::kZeros) address = zeros_;
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

bool SizedRegion::collect_bindings(const Plan& plan) {
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
      if (operand.place == Place::kConstant || operand.place == Place::kZeros || at != slot) {
        continue;
      }
      if (!bindings_.push(binding)) return false;
    }
    bound_[slot].count = static_cast<std::uint32_t>(bindings_.size()) - bound_[slot].first;
  }
  return true;
}

bool SizedRegion::collect_moving(const Plan& plan) {
  for (const Repeat& repeat : plan.repeats()) {
    RunRepeat run = {repeat, static_cast<std::uint32_t>(moving_.size()), 0};
    for (std::uint32_t s = 0; s < repeat.step_count; ++s) {
      const RunStep& step = steps_[repeat.first_step + s];
      for (std::uint32_t i = step.first_argument; i < step.first_argument + step.argument_count;
           ++i) {
        const auto& strides = plan.operands()[i].stride_bytes;
        if (std::all_of(strides, strides + kMaxLoops, [](auto bytes) { return bytes == 0; })) {
          continue;
        }
        Moving moving = {memories_[i], {}, nullptr};
        std::copy(strides, strides + kMaxLoops, moving.stride_bytes);
        if (!moving_.push(moving)) return false;
      }
    }
    run.moving_count = static_cast<std::uint32_t>(moving_.size()) - run.first_moving;
    if (!repeats_.push(run)) return false;
  }
  return true;
}

// The compiler declared the workspace that its plan needed; another CPU may need more.
bool SizedRegion::reserve_workspace(const Plan& plan, const JsonGraph& graph, TextBuffer* error) {
  std::int64_t declared = 0;
  if (!read_declared(graph, "workspace_bytes", &declared) || declared < 0) {
    error->add("the graph's workspace is no number of bytes");
    return false;
  }
  if (plan.workspace_bytes() <= static_cast<std::uint64_t>(declared)) return true;
  own_workspace_ = std::aligned_alloc(64, (plan.workspace_bytes() + 63) / 64 * 64);
  return own_workspace_ != nullptr;
}

void SizedRegion::bind(Bound& bound, void* address) {
  bound.address = address;
  for (std::uint32_t i = 0; i < bound.count; ++i) {
    const Binding& binding = bindings_[bound.first + i];
    library_.api().memory_set_data_handle(binding.memory,
                                          static_cast<char*>(address) + binding.offset);
  }
}

bool SizedRegion::run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
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
  const dnnl_status_t status = execute_all();
  if (status != dnnl_success) error->add("a primitive failed: %s", status_text(status));
  return status == dnnl_success;
}

dnnl_status_t SizedRegion::execute(std::uint32_t first, std::uint32_t count) const {
  const auto execute = library_.api().primitive_execute;
  dnnl_status_t status = dnnl_success;
  for (std::uint32_t i = first; i < first + count && status == dnnl_success; ++i) {
    const RunStep& step = steps_[i];
    status = execute(step.primitive, stream_, step.argument_count,
                     arguments_.data() + step.first_argument);
  }
  return status;
}

dnnl_status_t SizedRegion::execute_blocks(const RunRepeat& repeat) {
  const Api& api = library_.api();
  const Blocks& blocks = repeat.steps.blocks;
  Moving* moving = moving_.data() + repeat.first_moving;
  for (std::uint32_t m = 0; m < repeat.moving_count; ++m) {
    void* first = nullptr;
    api.memory_get_data_handle(moving[m].memory, &first);
    moving[m].first = static_cast<char*>(first);
  }
  dnnl_status_t status = dnnl_success;
  for (std::int64_t block = blocks.count(); block-- > 0;) {  // so that it ends with the first one
    for (std::uint32_t m = 0; m < repeat.moving_count; ++m) {
      const std::int64_t offset = blocks.offset_bytes(block, moving[m].stride_bytes);
      api.memory_set_data_handle(moving[m].memory, moving[m].first + offset);
    }
    if (status == dnnl_success) status = execute(repeat.steps.first_step, repeat.steps.step_count);
  }
  return status;
}

dnnl_status_t SizedRegion::execute_all() {
  std::uint32_t next = 0;
  for (const RunRepeat& repeat : repeats_) {
    const std::uint32_t first = repeat.steps.first_step;
    dnnl_status_t status = execute(next, first - next);
    if (status == dnnl_success) status = execute_blocks(repeat);
    if (status != dnnl_success) return status;
    next = first + repeat.steps.step_count;
  }
  return execute(next, step_count() - next);
}

bool SizedRegion::is_for(const runtime::SizeTable& sizes) const {
  if (sizes.entries().size() != sizes_.size()) return false;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes.entries()[i].value != sizes_[i]) return false;
  }
  return true;
}

// ---- Regions of several sizes ------------------------------------------------------------------

CallSite::~CallSite() {
  for (SizedRegion* region : regions_) runtime::destroy(region);
}

bool CallSite::create(const tessera_artifact_view& artifact, TextBuffer* error) {
  artifact_ = artifact;
  if (!graph_.parse({static_cast<const char*>(artifact.payload), artifact.payload_bytes})) {
    error->add("%s", graph_.error());
    return false;
  }
  is_dynamic_ = has_symbols();
  return is_dynamic_ || add_region(error);
}

bool CallSite::has_symbols() const {
  for (const JsonNode& node : graph_.nodes()) {
    for (std::uint32_t output = 0; output < node.output_count; ++output) {
      for (std::uint32_t d = 0; d < DNNL_MAX_NDIMS; ++d) {
        if (!graph_.size_text(node, output, d).empty()) return true;
      }
    }
  }
  return false;
}

bool CallSite::bind_sizes_of(const JsonNode& node, std::uint32_t output,
                             const tessera_tensor& tensor) {
  for (std::int32_t d = 0; d < tensor.ndim; ++d) {
    const std::string_view text = graph_.size_text(node, output, static_cast<std::uint32_t>(d));
    if (!text.empty() && !graph_.set_size(text, tensor.shape[d])) return false;
  }
  return true;
}

// The host program passes results with their shapes, so that these, too, tell what symbols are.
bool CallSite::bind_sizes(tessera_tensor** tensors, std::int32_t count, TextBuffer* error) {
  std::int32_t next = 0;
  bool bound = true;
  for (const JsonNode& node : graph_.nodes()) {
    if (node.op != runtime::JsonOp::kInput || next >= count) continue;
    bound = bind_sizes_of(node, 0, *tensors[next++]) && bound;
  }
  for (const JsonEntry head : graph_.heads()) {
    if (next >= count) break;
    bound = bind_sizes_of(graph_.nodes()[head.node], head.index, *tensors[next++]) && bound;
  }
  if (!bound) error->add("out of memory");
  return bound;
}

// Blocks of more threads than the compiler planned for would be larger than its workspace.
std::int32_t CallSite::threads_of_plan() const {
  std::int64_t most = threads_;
  if (!read_declared(graph_, "most_threads", &most)) most = 1;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(most, 1, std::max(threads_, 1)));
}

SizedRegion* CallSite::make_region(TextBuffer* error) {
  auto* region = runtime::create<SizedRegion>(library_, stream_);
  if (region != nullptr && region->create(graph_, artifact_, threads_of_plan(), error)) {
    return region;
  }
  runtime::destroy(region);
  if (error->text()[0] == '\0') error->add("out of memory");
  return nullptr;
}

// A new one in the place of the one that was not used longest, where there are many.
bool CallSite::add_region(TextBuffer* error) {
  SizedRegion* fresh = make_region(error);
  if (fresh == nullptr) return false;
  if (regions_.size() == kMaxRegions) {
    runtime::destroy(regions_[kMaxRegions - 1]);
    regions_[kMaxRegions - 1] = fresh;
    return true;
  }
  if (regions_.push(fresh)) return true;
  runtime::destroy(fresh);
  error->add("out of memory");
  return false;
}

SizedRegion* CallSite::region_for_sizes(TextBuffer* error) {
  std::size_t at = 0;
  while (at < regions_.size() && !regions_[at]->is_for(graph_.sizes())) ++at;
  if (at == regions_.size()) {
    if (!add_region(error)) return nullptr;
    at = regions_.size() - 1;
  }
  for (; at > 0; --at) std::swap(regions_[at], regions_[at - 1]);
  return regions_[0];
}

bool CallSite::run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                   TextBuffer* error) {
  if (!is_dynamic_) return regions_[0]->run(call, tensors, count, error);
  if (!bind_sizes(tensors, count, error)) return false;
  SizedRegion* region = region_for_sizes(error);
  return region != nullptr && region->run(call, tensors, count, error);
}

}  // namespace tessera::backends::onednn
