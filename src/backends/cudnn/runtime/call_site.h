// SPDX-License-Identifier: Apache-2.0
// Call-site state: the plan of one region, and where its tensors lie. A run sets addresses that
// changed and executes; it allocates nothing on the device.
#pragma once

#include "backends/cudnn/runtime/plan.h"
#include "runtime/state_device.h"
#include "tessera/call.h"

namespace tessera::backends::cudnn {

// Instance state: cuDNN's handle, which is one thread's at a time.
struct Instance {
  Api api = {};
  Device device;
  void* stream = nullptr;
  bool has_stream = false;
};

class CallSite {
 public:
  explicit CallSite(Instance& instance, runtime::StateMemory memory)
      : instance_(instance), memory_(memory) {}
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  ~CallSite();

  [[nodiscard]] bool create(const tessera_artifact_view& artifact, TextBuffer* error);
  // False: `error` says why.
  [[nodiscard]] bool run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                         TextBuffer* error);
  // Why the plan is not the compiler's; "".
  const char* note() const { return note_.text(); }

 private:
  // What has a name in the plan: tensors of a run or parts of them, and numbers.
  struct Bound {
    std::int32_t tensor;  // of a run; -1: a number
    std::int64_t offset_bytes;
  };

  bool collect_ids(TextBuffer* error);
  bool add_id(std::uint32_t node, Bound bound, TextBuffer* error);
  bool collect_views(const runtime::Array<std::int32_t>& inputs, TextBuffer* error);
  bool collect_scalars(TextBuffer* error);
  bool is_of_this_version(const JsonNode& last, TextBuffer* error) const;
  bool restore_plan(const JsonNode& last, TextBuffer* error);
  bool make_plan(const JsonNode& last, bool is_stored, const TextBuffer& why, TextBuffer* error);
  bool reserve_workspace(const JsonNode& last, TextBuffer* error);
  bool bind(void* workspace, TextBuffer* error);
  bool use_stream(void* stream, TextBuffer* error);

  Instance& instance_;
  runtime::StateMemory memory_;
  JsonGraph graph_;
  OperationGraph operations_;  // of a plan that was made here
  Plan plan_;
  void* own_workspace_ = nullptr;  // where the plan needs more than the compiler's did
  std::int32_t tensor_count_ = 0;  // of a run
  runtime::Array<std::int64_t> ids_;
  runtime::Array<Bound> bound_;      // parallel to the ids
  runtime::Array<void*> addresses_;  // parallel to the ids
  runtime::Array<float> scalars_;
  void* bound_workspace_ = nullptr;
  Descriptor pack_;  // ids and addresses, as they are
  bool is_bound_ = false;
  TextBuffer note_;
};

}  // namespace tessera::backends::cudnn
