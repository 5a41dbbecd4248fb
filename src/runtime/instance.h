// SPDX-License-Identifier: Apache-2.0
// What stands behind the opaque `tessera_instance`: everything that a run needs, laid out at its
// creation.
#pragma once

#include <atomic>

#include "runtime/array.h"
#include "runtime/error.h"
#include "runtime/model.h"
#include "runtime/vendor_threads.h"
#include "runtime/workers.h"

namespace tessera::runtime {

class DeviceRun;

// A piece of memory from the caller's allocator or malloc.
struct Block {
  void* data;
  std::uint64_t bytes;
  bool owned;
  tessera_device device;
};

// Memory of a tensor: its end is no more than the last address.
struct Range {
  std::uintptr_t begin;
  std::uint64_t bytes;
};

struct StepTimes {
  std::uint64_t calls, total_ns, min_ns, last_start_ns, last_ns;
};

// A mark in the device's stream: the end of a step.
struct DeviceMark {
  void* event;
  std::int32_t step;
};

// What an instance on a device other than the CPU has.
struct DeviceWork {
  const tessera_device_api* api;  // null on the CPU
  const DeviceStates* library;
  void* stream;              // the instance's own
  void* begin;               // events around the latest run,
  void* end;                 // wherever it was
  bool has_run;              // both have been recorded
  Block flag;                // a scalar that the host asks for, pinned
  Block copies;              // tensors that a kernel on the CPU reads, pinned
  Block sent;                // what it has written, on its way to the device, pinned;
  std::uint64_t sent_bytes;  // of which so much may still be read
  DeviceRun* run;            // the current one
  Array<Block> inputs;       // copies of host tensors; pinned ones of what the host reads itself
  Array<Block> outputs;      // results that go to the host, or are the instance's own
  Array<Block> staging;      // pinned: inputs, then outputs
  Array<void*> host_copies;  // of the current run's outputs: where they go; null: nowhere
  Array<Range>
      sent_inputs;  // where inputs were copied from, if they are not copied from there again
  // Replay: what the latest run was given, and the recording of it.
  Array<const void*> bound;
  Array<std::int64_t> bound_dims;
  bool bound_once;
  std::int32_t repeats;                      // computations of a run, at least one
  Block weight_copies;                       // of all constants, one after another, beside the
  Array<const void*> copied_weights;         // library's own; tables of them, one a copy
  bool replays;                              // until recording has failed
  const tessera_program_extern* unrecorded;  // the first that must not be; null: there is none
  void* graph;
  Array<DeviceMark> marks;  // events are kept for later runs
  std::size_t mark_count;
};

}  // namespace tessera::runtime

struct tessera_profile {
  tessera_instance* on_device;  // null on the CPU
  tessera::runtime::Array<tessera::runtime::StepTimes> steps;
  std::uint64_t run_start_ns;
  std::uint64_t last_mark_ns;
};

struct tessera_instance {
  tessera_model* model;
  tessera_allocator allocator;
  tessera_device device;
  std::int32_t threads;
  std::uint32_t forks;  // of this process, when it was created

  tessera::runtime::Array<tessera::runtime::Block> pools;
  tessera::runtime::Array<void*> pool_pointers;
  tessera::runtime::Array<tessera::runtime::Block> heap;
  tessera::runtime::Block workspace;  // shared by externs whose workspace is not planned

  tessera::runtime::Workers workers;
  tessera::runtime::VendorThreads vendor_threads;

  tessera_call call;
  tessera::runtime::Array<tessera_call> extern_calls;
  tessera::runtime::Array<tessera_states> states;  // one an extern
  tessera::runtime::Array<char*> notes;            // one an extern; null: nothing
  tessera::runtime::Array<void*> backend_states;   // instance states, one a back end

  tessera::runtime::Array<tessera::runtime::Block> weights;  // kept ones that were set

  // What belongs to the current run.
  tessera::runtime::Array<void*> inputs;  // the model's, then kept weights
  tessera::runtime::Array<void*> outputs;
  tessera::runtime::Array<std::int64_t> dims;
  tessera::runtime::Array<std::int64_t> output_shapes;  // all outputs', one after the other
  tessera::runtime::Array<tessera_tensor> output_tensors;
  tessera::runtime::Array<tessera::runtime::Block> own_outputs;
  const tessera_tensor* given_outputs;                      // by the caller
  tessera::runtime::Array<tessera::runtime::Range> ranges;  // overlap.h
  bool ranges_are_apart;  // these, with pools and weights as they are

  tessera::runtime::DeviceWork work;

  tessera_profile profile;
  bool profiling;

  std::atomic<std::int32_t> running;
  std::atomic<std::int32_t> has_error;  // the first of several threads' errors is kept
  std::int32_t error_status;
  char error[tessera::runtime::kErrorBytes];
};

namespace tessera::runtime {

// Memory of `bytes` (0 gives null) and `align_bytes` into *block, on the instance's device or on
// another. A status; `what` names it in the sentence.
std::int32_t allocate_block(tessera_instance& instance, std::uint64_t bytes,
                            std::uint64_t align_bytes, const char* what, Block* block);
std::int32_t allocate_block(tessera_instance& instance, tessera_device device, std::uint64_t bytes,
                            std::uint64_t align_bytes, const char* what, Block* block);
void release_block(tessera_instance& instance, Block* block);

// Why the current run fails: of several reasons the first. A program tells no more than that it
// failed; the status that the run ends with is TESSERA_KERNEL_FAILED where a kernel reported the
// error.
void clear_run_error(tessera_instance& instance);
void set_run_error(tessera_instance& instance, std::int32_t status, const char* text);
std::int32_t run_failed(const tessera_instance& instance);
// After a failure, results that have no size yet are empty, so that the caller's tensors, which may
// be the instance's, can be given again.
void settle_sizes(tessera_instance& instance);

// Is it on a device, and of another process, from which this one was forked? Nothing on the device
// follows.
bool is_left_behind(const tessera_instance& instance);
// Then the sentence of it.
std::int32_t fail_left_behind();

// One call at a time: the others are told.
template <class F>
std::int32_t alone(tessera_instance* instance, F&& work) {
  if (instance == nullptr) return fail(TESSERA_INVALID_ARGUMENT, "`instance` is a null pointer");
  if (instance->running.exchange(1, std::memory_order_acquire) != 0) {
    return fail(TESSERA_BUSY, "the instance is running in another thread: create one for each");
  }
  const std::int32_t status = is_left_behind(*instance) ? fail_left_behind() : work();
  if (status != TESSERA_OK) settle_sizes(*instance);
  instance->running.store(0, std::memory_order_release);
  return status;
}

// Where a run reads kept weight `index`: what the model was compiled with.
void use_default_weight(tessera_instance& instance, std::int32_t index);

// Creates and destroys instance states and call-site states. A status.
std::int32_t create_instance_states(tessera_instance& instance);
void destroy_instance_states(tessera_instance& instance);

}  // namespace tessera::runtime
