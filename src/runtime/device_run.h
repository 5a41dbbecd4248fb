// SPDX-License-Identifier: Apache-2.0
// Instances on a device other than the CPU: their streams, copies from and to the host, and
// replay. All functions give a status, unless they cannot fail.
#pragma once

#include "runtime/device.h"
#include "runtime/instance.h"

namespace tessera::runtime {

// Memory of the host that the instance's device copies from and to.
inline tessera_device pinned(const tessera_instance& instance) {
  return {TESSERA_CUDA_HOST, instance.device.device_id};
}

// That data are where the tensor says, and the instance can reach them.
std::int32_t check_place(const tessera_instance& instance, const char* kind, const char* name,
                         const tessera_tensor& t);

// ---- Of an instance's life (device_instance.cc) ----

// Finds the device and makes what every instance has on it.
std::int32_t set_up_device(tessera_instance& instance, const tessera_instance_options& options);
// Asks back ends whether what they do may be recorded; once their states are there.
void ask_for_recording(tessera_instance& instance);
// Waits for what is under way; before any memory goes.
void finish_device_work(tessera_instance& instance);
// After all else.
void tear_down_device(tessera_instance& instance);
// Tells of what has failed since it was last asked, too.
std::int32_t wait_for_device(tessera_instance& instance);
// The flag's block: the scalar that the host asks for, and after it where kernels tell of indices
// that lie outside.
inline constexpr std::uint64_t kFlagBytes = 64, kFlagAndFaultBytes = 128;
void clear_fault(tessera_instance& instance);
// The status of an index outside that kernels have found, once; does not wait (faults.cc). The
// first leaves it to the caller to tell.
std::int32_t read_fault(tessera_instance& instance, char (&text)[kErrorBytes]);
std::int32_t take_fault(tessera_instance& instance);
std::int32_t device_time(tessera_instance& instance, std::uint64_t* ns);
// Copies from anywhere into the device's memory, after what the instance does; waits for it.
std::int32_t copy_to_device(tessera_instance& instance, void* to, const void* from,
                            std::uint64_t bytes);

// ---- Runs ----

std::int32_t run_on_device(tessera_instance& instance, const tessera_tensor* inputs,
                           std::int32_t input_count, tessera_tensor* outputs,
                           std::int32_t output_count);
std::int32_t run_on_stream(tessera_instance& instance, void* stream, const tessera_tensor* inputs,
                           std::int32_t input_count, tessera_tensor* outputs,
                           std::int32_t output_count);
// Until nothing of the current run uses the instance's memory any more. A status.
std::int32_t wait_before_release(tessera_instance& instance);
// Memory for output `i`, whose shape the program has found by now.
std::int32_t reserve_device_output(tessera_instance& instance, std::int32_t i);

// The instance's tables as a host program gets them; in run.cc.
tessera_frame frame_of(tessera_instance& instance, const tessera_tensor* inputs,
                       const void* const* constants);
// Does the program find sizes of the output as it runs? In run.cc.
bool depends_on_data(const tessera_program_io& io, const std::int64_t* shape);

// ---- Copies of weights (device_weight_copies.cc) ----

// Makes as many as the options ask for, the library's own being one; once its states are there.
std::int32_t copy_weights(tessera_instance& instance, std::int32_t copies);
// The table of constants for a computation of a run, of which each has the next copy.
const void* const* weights_of(const tessera_instance& instance, std::int32_t computation);

// ---- Replay (device_replay.cc) ----

// Puts one run of the program into the stream: the calls themselves, or a recording of them where
// the run before had the same tensors and sizes.
std::int32_t enqueue_program(tessera_instance& instance, const tessera_frame& frame, void* stream);
void drop_recording(tessera_instance& instance);

// ---- Profile (device_profile.cc) ----

void start_device_profile(tessera_instance& instance);
void mark_device_step(tessera_instance& instance, std::int32_t step);
// After the run is done.
std::int32_t finish_device_profile(tessera_instance& instance);

// The sentence of the device as the calling thread's.
std::int32_t fail_on_device(std::int32_t status, const tessera_device_error& error);

}  // namespace tessera::runtime
