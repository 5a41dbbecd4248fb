// SPDX-License-Identifier: Apache-2.0
// Call-site state: the primitives of one region, their memory objects, and which address each has
// now. A run sets the addresses that changed and executes; it allocates nothing. Steps that are
// repeated for the blocks of a tensor have the addresses of the first block in between. Where sizes
// are known at run time only, there is a set of primitives for each of the last few shapes, made
// when a run first has it.
#pragma once

#include "backends/onednn/runtime/library.h"
#include "tessera/call.h"

namespace tessera::backends::onednn {

// The primitives for one value of each symbol.
class SizedRegion {
 public:
  SizedRegion(Library& library, dnnl_stream_t stream) : library_(library), stream_(stream) {}
  SizedRegion(const SizedRegion&) = delete;
  SizedRegion& operator=(const SizedRegion&) = delete;
  ~SizedRegion();

  // For the sizes that the graph has now, which need not stay, and so many threads.
  [[nodiscard]] bool create(const JsonGraph& graph, const tessera_artifact_view& artifact,
                            std::int32_t threads, TextBuffer* error);
  // Were the graph's sizes these?
  bool is_for(const runtime::SizeTable& sizes) const;

  // False: `error` says why.
  [[nodiscard]] bool run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                         TextBuffer* error);

  std::uint32_t step_count() const { return static_cast<std::uint32_t>(steps_.size()); }

 private:
  struct RunStep {
    dnnl_primitive_t primitive;
    std::uint32_t first_argument, argument_count;
  };
  // A memory object that lies elsewhere in each block.
  struct Moving {
    dnnl_memory_t memory;
    std::int64_t stride_bytes[kMaxLoops];
    char* first;  // its address in the first block
  };
  struct RunRepeat {
    Repeat steps;
    std::uint32_t first_moving, moving_count;
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
  bool reserve_workspace(const Plan& plan, const JsonGraph& graph, TextBuffer* error);
  bool collect_moving(const Plan& plan);
  void bind(Bound& bound, void* address);
  dnnl_status_t execute(std::uint32_t first, std::uint32_t count) const;
  dnnl_status_t execute_blocks(const RunRepeat& repeat);
  dnnl_status_t execute_all();

  Library& library_;
  dnnl_stream_t stream_;
  Array<dnnl_primitive_t> primitives_;
  Array<RunStep> steps_;
  Array<RunRepeat> repeats_;
  Array<Moving> moving_;           // grouped by repeats
  Array<dnnl_memory_t> memories_;  // parallel to the plan's operands
  Array<dnnl_exec_arg_t> arguments_;
  Array<Binding> bindings_;        // grouped: tensor 0, tensor 1, ..., workspace
  Array<Bound> bound_;             // one a tensor, then the workspace
  void* zeros_ = nullptr;          // for operands that the plan wants to be zero
  void* own_workspace_ = nullptr;  // where the plan needs more than the compiler's did
  Array<std::int64_t> sizes_;      // values of the graph's symbols, in its order
};

class CallSite {
 public:
  CallSite(Library& library, dnnl_stream_t stream, std::int32_t threads)
      : library_(library), stream_(stream), threads_(threads) {}
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  ~CallSite();

  [[nodiscard]] bool create(const tessera_artifact_view& artifact, TextBuffer* error);

  // False: `error` says why.
  [[nodiscard]] bool run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                         TextBuffer* error);

 private:
  static constexpr std::size_t kMaxRegions = 8;

  bool has_symbols() const;
  bool bind_sizes(tessera_tensor** tensors, std::int32_t count, TextBuffer* error);
  bool bind_sizes_of(const JsonNode& node, std::uint32_t output, const tessera_tensor& tensor);
  SizedRegion* region_for_sizes(TextBuffer* error);
  std::int32_t threads_of_plan() const;
  SizedRegion* make_region(TextBuffer* error);
  bool add_region(TextBuffer* error);

  Library& library_;
  dnnl_stream_t stream_;
  std::int32_t threads_;
  tessera_artifact_view artifact_ = {};
  JsonGraph graph_;
  bool is_dynamic_ = false;      // no regions before the first run
  Array<SizedRegion*> regions_;  // the one used last in front
};

}  // namespace tessera::backends::onednn
