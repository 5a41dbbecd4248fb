// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/runtime/call_site.h"

#include "backends/cudnn/runtime/configuration.h"

namespace tessera::backends::cudnn {
namespace {

using runtime::JsonOp;

// The plan and what it needs stand beside the first operation.
const JsonNode* first_kernel(const JsonGraph& graph) {
  for (const JsonNode& node : graph.nodes()) {
    if (node.op == JsonOp::kKernel) return &node;
  }
  return nullptr;
}

}  // namespace

CallSite::~CallSite() { memory_.release(own_workspace_); }

bool CallSite::create(const tessera_artifact_view& artifact, TextBuffer* error) {
  if (!graph_.parse({static_cast<const char*>(artifact.payload), artifact.payload_bytes})) {
    error->add("%s", graph_.error());
    return false;
  }
  const JsonNode* first = first_kernel(graph_);
  if (first == nullptr) {
    error->add("the graph has no operation");
    return false;
  }
  if (!collect_ids(error)) return false;
  TextBuffer why;
  const bool is_stored = is_of_this_version(*first, &why);
  const bool done =
      (is_stored && restore_plan(*first, &why)) || make_plan(*first, is_stored, why, error);
  return done && reserve_workspace(*first, error);
}

// Of the engine and the choices of a plan that is not taken as it stands, as where the device is
// not quite the one that was described; else what the heuristics put first.
bool CallSite::make_plan(const JsonNode& first, bool is_stored, const TextBuffer& why,
                         TextBuffer* error) {
  const Device& device = instance_.device;
  if (!operations_.build(device, graph_, error)) return false;
  TextBuffer ignored;
  if (is_stored && cudnn::make_plan(device, operations_, graph_.attr_text(first, "configuration"),
                                    &plan_, &ignored)) {
    return true;
  }
  note_.add("the stored plan is not taken but the heuristics' first: %s", why.text());
  return plan_.choose(device, operations_, error);
}

// Inputs, then results, as a run has them.
bool CallSite::collect_ids(TextBuffer* error) {
  bool done = true;
  const auto add = [&](std::uint32_t node) {
    std::int64_t id = -1;
    done = done && tensor_id(graph_, node, &id, error) && ids_.push(id);
  };
  for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
    if (graph_.nodes()[i].op == JsonOp::kInput) add(i);
  }
  for (const runtime::JsonEntry head : graph_.heads()) add(head.node);
  done = done && addresses_.allocate(ids_.size());
  if (!done && error->text()[0] == '\0') error->add("out of memory");
  return done;
}

bool CallSite::is_of_this_version(const JsonNode& first, TextBuffer* error) const {
  std::int64_t version = 0;
  const bool is_known = graph_.attr_int(first, "cudnn_version", &version);
  if (!is_known || !graph_.has_attr(first, "plan")) {
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

bool CallSite::restore_plan(const JsonNode& first, TextBuffer* error) {
  return plan_.restore(instance_.device, graph_.attr_text(first, "plan"), error);
}

bool CallSite::reserve_workspace(const JsonNode& first, TextBuffer* error) {
  std::int64_t declared = 0;
  if (!graph_.attr_int(first, "workspace_bytes", &declared) || declared < 0) {
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
  if (static_cast<std::size_t>(count) != ids_.size()) {
    error->add("called with %d tensors instead of %d", count, static_cast<int>(ids_.size()));
    return false;
  }
  void* workspace = own_workspace_ != nullptr ? own_workspace_ : call.workspace;
  bool is_bound = is_bound_ && bound_workspace_ == workspace;
  for (std::int32_t i = 0; i < count; ++i) {
    void* address = static_cast<char*>(tensors[i]->data) + tensors[i]->byte_offset;
    if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) {
      error->add("tensor %d is not aligned to 16 bytes", i);
      return false;
    }
    is_bound &= addresses_[static_cast<std::size_t>(i)] == address;
    addresses_[static_cast<std::size_t>(i)] = address;
  }
  if (!use_stream(call.stream, error)) return false;
  if (!is_bound && !bind(workspace, error)) return false;
  const cudnnStatus_t status = instance_.api.BackendExecute(instance_.device.handle(),
                                                            plan_.descriptor().raw(), pack_.raw());
  return status == CUDNN_STATUS_SUCCESS || fail(instance_.api, "cuDNN failed", status, error);
}

}  // namespace tessera::backends::cudnn
