// SPDX-License-Identifier: Apache-2.0
// Call-site state: the primitives of one region, their memory objects, and which address each has
// now. A run sets the addresses that changed and executes; it allocates nothing.
#pragma once

#include "backends/onednn/runtime/library.h"
#include "tessera/call.h"

namespace tessera::backends::onednn {

class CallSite {
 public:
  CallSite(Library& library, dnnl_stream_t stream) : library_(library), stream_(stream) {}
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  ~CallSite();

  [[nodiscard]] bool create(const tessera_artifact_view& artifact, TextBuffer* error);

  // False: `error` says why.
  [[nodiscard]] bool run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                         TextBuffer* error);

  std::uint32_t step_count() const { return static_cast<std::uint32_t>(steps_.size()); }

 private:
  struct RunStep {
    dnnl_primitive_t primitive;
    std::uint32_t first_argument, argument_count;
  };
  // A memory object that lies at tensor `tensor`, or at `offset` in the workspace.
  struct Binding {
    dnnl_memory_t memory;
    std::uint64_t offset;
  };
  // The bindings of one tensor, and the address that they have.
  struct Bound {
    std::uint32_t first, count;
    const void* address;
  };

  bool create_steps(const Plan& plan, const Array<const void*>& constants, TextBuffer* error);
  bool create_memory(const Operand& operand, const Array<const void*>& constants,
                     TextBuffer* error);
  bool resolve_constants(const Plan& plan, const JsonGraph& graph,
                         const tessera_artifact_view& artifact, Array<const void*>* addresses,
                         TextBuffer* error);
  bool collect_bindings(const Plan& plan);
  bool reserve_workspace(const Plan& plan, const JsonGraph& graph);
  void bind(Bound& bound, void* address);

  Library& library_;
  dnnl_stream_t stream_;
  Array<dnnl_primitive_t> primitives_;
  Array<RunStep> steps_;
  Array<dnnl_memory_t> memories_;  // parallel to the plan's operands
  Array<dnnl_exec_arg_t> arguments_;
  Array<Binding> bindings_;        // grouped: tensor 0, tensor 1, ..., workspace
  Array<Bound> bound_;             // one a tensor, then the workspace
  void* own_workspace_ = nullptr;  // where the plan needs more than the compiler's did
};

}  // namespace tessera::backends::onednn
