// SPDX-License-Identifier: Apache-2.0
// What stands behind the opaque `tessera_instance`: everything that a run needs, laid out at its
// creation.
#pragma once

#include <atomic>

#include "runtime/array.h"
#include "runtime/error.h"
#include "runtime/model.h"

namespace tessera::runtime {

// A piece of memory from the caller's allocator or malloc.
struct Block {
  void* data;
  std::uint64_t bytes;
  bool owned;
};

struct StepTimes {
  std::uint64_t calls, total_ns, min_ns, last_start_ns, last_ns;
};

}  // namespace tessera::runtime

struct tessera_profile {
  tessera::runtime::Array<tessera::runtime::StepTimes> steps;
  std::uint64_t run_start_ns;
  std::uint64_t last_mark_ns;
};

struct tessera_instance {
  tessera_model* model;
  tessera_allocator allocator;
  tessera_device device;
  std::int32_t threads;

  tessera::runtime::Array<tessera::runtime::Block> pools;
  tessera::runtime::Array<void*> pool_pointers;
  tessera::runtime::Array<tessera::runtime::Block> heap;
  tessera::runtime::Block workspace;  // shared by externs whose workspace is not planned

  tessera_call call;
  tessera::runtime::Array<tessera_call> extern_calls;
  tessera::runtime::Array<tessera_states> states;  // one an extern
  tessera::runtime::Array<void*> backend_states;   // instance states, one a back end

  // Of the current run.
  tessera::runtime::Array<void*> inputs;
  tessera::runtime::Array<void*> outputs;
  tessera::runtime::Array<std::int64_t> dims;
  tessera::runtime::Array<std::int64_t> output_shapes;  // all outputs', one after the other
  tessera::runtime::Array<tessera_tensor> output_tensors;
  tessera::runtime::Array<tessera::runtime::Block> own_outputs;
  const tessera_tensor* given_outputs;  // by the caller

  tessera_profile profile;
  bool profiling;

  std::atomic<std::int32_t> running;
  std::atomic<std::int32_t> has_error;  // the first of several threads' errors is kept
  char error[tessera::runtime::kErrorBytes];
};

namespace tessera::runtime {

// Memory of `bytes` (0 gives null) and `align_bytes` into *block. A status; `what` names it in the
// sentence.
std::int32_t allocate_block(tessera_instance& instance, std::uint64_t bytes,
                            std::uint64_t align_bytes, const char* what, Block* block);
void release_block(tessera_instance& instance, Block* block);

// Creates and destroys instance states and call-site states. A status.
std::int32_t create_instance_states(tessera_instance& instance);
void destroy_instance_states(tessera_instance& instance);

}  // namespace tessera::runtime
