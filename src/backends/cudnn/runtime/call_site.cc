// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/runtime/call_site.h"

#include "backends/cudnn/runtime/configuration.h"

namespace tessera::backends::cudnn {

namespace {

using runtime::JsonOp;

bool out_of_memory(TextBuffer* error) {
  error->add("out of memory");
  return false;
}

}  // namespace

CallSite::~CallSite() { memory_.release(own_workspace_); }

bool CallSite::create(const tessera_artifact_view& artifact, TextBuffer* error) {
  if (!graph_.parse({static_cast<const char*>(artifact.payload), artifact.payload_bytes})) {
    error->add("%s", graph_.error());
    return false;
  }
  const JsonNode* last = last_operation(graph_);
  if (last == nullptr) {
    error->add("the graph has no operation");
    return false;
  }
  if (!collect_ids(error)) return false;
  TextBuffer why;
  const bool is_stored = is_of_this_version(*last, &why);
  const bool done =
      (is_stored && restore_plan(*last, &why)) || make_plan(*last, is_stored, why, error);
  return done && reserve_workspace(*last, error);
}

// Of the engine and the choices of a plan that is not taken as it stands, as where the device is
// not quite the one that was described; else what the heuristics put first.
bool CallSite::make_plan(const JsonNode& last, bool is_stored, const TextBuffer& why,
                         TextBuffer* error) {
  const Device& device = instance_.device;
  if (!operations_.build(device, graph_, error)) return false;
  TextBuffer ignored;
  if (is_stored && cudnn::make_plan(device, operations_, graph_.attr_text(last, "configuration"),
                                    &plan_, &ignored)) {
    return true;
  }
  note_.add("the stored plan is not taken but the heuristics' first: %s", why.text());
  return plan_.choose(device, operations_, error);
}

bool CallSite::add_id(std::uint32_t node, Bound bound, TextBuffer* error) {
  std::int64_t id = -1;
  if (!tensor_id(graph_, node, &id, error)) return false;
  return (ids_.push(id) && bound_.push(bound)) || out_of_memory(error);
}

// Inputs, then results, as a run has them.
bool CallSite::collect_ids(TextBuffer* error) {
  runtime::Array<std::int32_t> inputs;  // by node: which tensor of a run it is
  if (!inputs.allocate(graph_.nodes().size())) return out_of_memory(error);
  for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
    const JsonNode& node = graph_.nodes()[i];
    inputs[i] = node.op == JsonOp::kInput ? tensor_count_++ : -1;
    const bool is_bound = node.op == JsonOp::kInput && is_tensor(graph_, node);
    if (is_bound && !add_id(i, {inputs[i], 0}, error)) return false;
  }
  for (const runtime::JsonEntry head : graph_.heads()) {
    if (!add_id(head.node, {tensor_count_++, 0}, error)) return false;
  }
  return collect_views(inputs, error) && collect_scalars(error);
}

bool CallSite::collect_views(const runtime::Array<std::int32_t>& inputs, TextBuffer* error) {
  for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
    const JsonNode& node = graph_.nodes()[i];
    if (!is_view(node)) continue;
    std::int64_t offset = -1;
    const std::int32_t source = node.input_count == 1 ? inputs[node.inputs[0].node] : -1;
    if (source < 0 || !graph_.attr_int(node, "offset_bytes", &offset) || offset < 0) {
      error->add("the graph has a view of nothing");
      return false;
    }
    if (!add_id(i, {source, offset}, error)) return false;
  }
  return true;
}

// They stay where they are.
bool CallSite::collect_scalars(TextBuffer* error) {
  for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
    float value = 0;
    if (!is_scalar(graph_.nodes()[i])) continue;
    if (!scalar_value(graph_, graph_.nodes()[i], &value, error)) return false;
    if (!add_id(i, {-1, 0}, error)) return false;
    if (!scalars_.push(value)) return out_of_memory(error);
  }
  if (!addresses_.allocate(ids_.size())) return out_of_memory(error);
  std::size_t scalar = 0;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (bound_[i].tensor < 0) addresses_[i] = &scalars_[scalar++];
  }
  return true;
}

bool CallSite::is_of_this_version(const JsonNode& last, TextBuffer* error) const {
  std::int64_t version = 0;
  const bool is_known = graph_.attr_int(last, "cudnn_version", &version);
  if (!is_known || !graph_.has_attr(last, "plan")) {
    error->add("there is none");
    return false;
  }
  if (static_cast<std::size_t>(version) != instance_.api.GetVersion()) {
    error->add("it is of cuDNN %lld, and this is %zu", static_cast<long long>(version),
               instance_.api.GetVersion());
    return false;
  }
  return true;
}

bool CallSite::restore_plan(const JsonNode& last, TextBuffer* error) {
  return plan_.restore(instance_.device, graph_.attr_text(last, "plan"), error);
}

bool CallSite::reserve_workspace(const JsonNode& last, TextBuffer* error) {
  std::int64_t declared = 0;
  if (!graph_.attr_int(last, "workspace_bytes", &declared) || declared < 0) {
    error->add("the graph's workspace is no number of bytes");
    return false;
  }
  if (plan_.workspace_bytes() <= static_cast<std::uint64_t>(declared)) return true;
  return memory_.allocate(plan_.workspace_bytes(), &own_workspace_, error);
}

bool CallSite::use_stream(void* stream, TextBuffer* error) {
  if (instance_.has_stream && instance_.stream == stream) return true;
  const Api& api = instance_.api;
  const cudnnStatus_t status =
      api.SetStream(instance_.device.handle(), static_cast<cudaStream_t>(stream));
  if (status != CUDNN_STATUS_SUCCESS) {
    return fail(api, "cuDNN does not take the stream", status, error);
  }
  instance_.stream = stream;
  instance_.has_stream = true;
  return true;
}

bool CallSite::bind(void* workspace, TextBuffer* error) {
  const auto count = static_cast<std::int64_t>(ids_.size());
  pack_ = Descriptor();
  const cudnnStatus_t status =
      pack_.create(instance_.api, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
          .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids_.data())
          .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, addresses_.data())
          .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
          .finalize();
  is_bound_ = status == CUDNN_STATUS_SUCCESS;
  bound_workspace_ = workspace;
  return is_bound_ || fail(instance_.api, "cuDNN does not take the tensors", status, error);
}

bool CallSite::run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                   TextBuffer* error) {
  if (count != tensor_count_) {
    error->add("called with %d tensors instead of %d", count, tensor_count_);
    return false;
  }
  void* workspace = own_workspace_ != nullptr ? own_workspace_ : call.workspace;
  is_bound_ = is_bound_ && bound_workspace_ == workspace;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const auto [tensor, offset] = bound_[i];
    if (tensor < 0) continue;
    void* address =
        static_cast<char*>(tensors[tensor]->data) + tensors[tensor]->byte_offset + offset;
    if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) {
      error->add("tensor %d is not aligned to 16 bytes", tensor);
      return false;
    }
    // What fails before it is bound again leaves nothing behind that looks bound.
    if (addresses_[i] != address) is_bound_ = false;
    addresses_[i] = address;
  }
  if (!use_stream(call.stream, error)) return false;
  if (!is_bound_ && !bind(workspace, error)) return false;
  const cudnnStatus_t status = instance_.api.BackendExecute(instance_.device.handle(),
                                                            plan_.descriptor().raw(), pack_.raw());
  return status == CUDNN_STATUS_SUCCESS || fail(instance_.api, "cuDNN failed", status, error);
}

}  // namespace tessera::backends::cudnn
