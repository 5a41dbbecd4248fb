// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/device_run.h"

namespace tessera::runtime {
namespace {

void use_stream(tessera_instance& instance, void* stream) {
  instance.call.stream = stream;
  for (tessera_call& call : instance.extern_calls) call.stream = stream;
}

// Has this run the tensors and sizes of the one before? Remembers them.
bool is_bound_again(tessera_instance& instance) {
  DeviceWork& work = instance.work;
  bool again = work.bound_once;
  const auto keep = [&](auto& list, std::size_t i, auto value) {
    again &= list[i] == value;
    list[i] = value;
  };
  const std::size_t inputs = instance.inputs.size();
  for (std::size_t i = 0; i < inputs; ++i) keep(work.bound, i, instance.inputs[i]);
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    keep(work.bound, inputs + i, instance.outputs[i]);
  }
  for (std::size_t i = 0; i < instance.dims.size(); ++i) {
    keep(work.bound_dims, i, instance.dims[i]);
  }
  work.bound_once = true;
  return again;
}

std::int32_t call_entry(tessera_instance& instance, const tessera_frame& frame, void* stream) {
  use_stream(instance, stream);
  const auto compute = [&] {
    std::int32_t failed = 0;
    tessera_frame computation = frame;
    for (std::int32_t i = 0; i < instance.work.repeats && failed == 0; ++i) {
      computation.constants = weights_of(instance, i);
      failed = instance.model->program->entry(&computation);
    }
    return failed;
  };
  if (instance.vendor_threads.run(compute) == 0) return TESSERA_OK;
  instance.work.bound_once = false;  // what fails again is no reason to record it
  return run_failed(instance);
}

// A recording that fails is no error: what it would have done is done call by call.
std::int32_t record(tessera_instance& instance, const tessera_frame& frame) {
  DeviceWork& work = instance.work;
  tessera_device_error error = {};
  if (work.api->begin_capture(work.stream, &error) != TESSERA_OK) {
    work.replays = false;
    return TESSERA_OK;
  }
  const std::int32_t status = call_entry(instance, frame, work.stream);
  const std::int32_t recorded = work.api->end_capture(work.stream, &work.graph, &error);
  if (recorded != TESSERA_OK || status != TESSERA_OK) {
    drop_recording(instance);
    work.replays = false;
    clear_run_error(instance);  // what was tried is done in another way
  }
  return TESSERA_OK;
}

}  // namespace

void drop_recording(tessera_instance& instance) {
  if (instance.work.graph != nullptr) instance.work.api->destroy_graph(instance.work.graph);
  instance.work.graph = nullptr;
}

std::int32_t enqueue_program(tessera_instance& instance, const tessera_frame& frame, void* stream) {
  DeviceWork& work = instance.work;
  const bool again = is_bound_again(instance);
  if (!again) drop_recording(instance);
  if (!work.replays || instance.profiling || work.api->is_capturing(stream) != 0) {
    return call_entry(instance, frame, stream);
  }
  if (again && work.graph == nullptr) {
    if (std::int32_t status = record(instance, frame)) return status;
  }
  if (work.graph == nullptr) return call_entry(instance, frame, stream);
  tessera_device_error error = {};
  const std::int32_t status = work.api->launch_graph(work.graph, stream, &error);
  return status == TESSERA_OK ? status : fail_on_device(status, error);
}

}  // namespace tessera::runtime
