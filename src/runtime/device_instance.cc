// SPDX-License-Identifier: Apache-2.0
// What an instance has on its device, from the first to the last, and waiting for it.
#include <algorithm>
#include <atomic>

#include "runtime/device_run.h"
#include "runtime/device_scope.h"
#include "runtime/fork.h"

namespace tessera::runtime {
namespace {

// A device serves the process that has used it first, and not those that are forked from it.
std::int32_t check_first_process() {
  static std::atomic<std::int64_t> first{-1};
  const std::int64_t here = num_forks();
  std::int64_t user = -1;
  if (first.compare_exchange_strong(user, here) || user == here) return TESSERA_OK;
  return fail_left_behind();
}

}  // namespace

std::int32_t fail_on_device(std::int32_t status, const tessera_device_error& error) {
  return fail(status, "%s", error.text);
}

std::int32_t set_up_device(tessera_instance& instance, const tessera_instance_options& options) {
  const tessera_program& program = *instance.model->program;
  DeviceWork& work = instance.work;
  tessera_device_error error = {};
  const tessera_device_api& api = *program.device_api;
  if (std::int32_t status = check_first_process()) return status;
  if (std::int32_t status = api.open(instance.device.device_id, program.device_arch, &error)) {
    return fail_on_device(status, error);
  }
  work.api = &api;
  work.replays = options.no_replay == 0 && program.replayable != 0;
  work.repeats = std::max(options.repeats, 1);
  instance.profile.on_device = &instance;
  const auto inputs = static_cast<std::size_t>(program.input_count);
  const auto kept = static_cast<std::size_t>(program.kept_weight_count);
  const auto outputs = static_cast<std::size_t>(program.output_count);
  const bool all = work.inputs.allocate(inputs) && work.outputs.allocate(outputs) &&
                   work.staging.allocate(inputs + outputs) && work.host_copies.allocate(outputs) &&
                   work.sent_inputs.allocate(options.same_inputs != 0 ? inputs : 0) &&
                   work.bound.allocate(inputs + kept + outputs) &&
                   work.bound_dims.allocate(static_cast<std::size_t>(program.symbol_count));
  if (!all) return fail_out_of_memory("the tables of the instance");
  std::int32_t status = api.create_stream(&work.stream, &error);
  if (status == TESSERA_OK) status = api.create_event(&work.begin, &error);
  if (status == TESSERA_OK) status = api.create_event(&work.end, &error);
  if (status != TESSERA_OK) return fail_on_device(status, error);
  status = allocate_block(instance, pinned(instance), kFlagAndFaultBytes, 64, "a flag", &work.flag);
  if (status == TESSERA_OK) clear_fault(instance);
  return status;
}

void ask_for_recording(tessera_instance& instance) {
  const tessera_program& program = *instance.model->program;
  for (std::int32_t i = 0; i < program.extern_count; ++i) {
    const tessera_program_extern& symbol = program.externs[i];
    const bool asks = symbol.capturable != 0 && symbol.capturable_query != nullptr;
    const bool is_allowed = asks
                                ? symbol.capturable_query(&instance.states[i], instance.device) != 0
                                : symbol.capturable != 0;
    if (is_allowed) continue;
    instance.work.unrecorded = &symbol;
    instance.work.replays = false;
    return;
  }
}

void finish_device_work(tessera_instance& instance) {
  DeviceWork& work = instance.work;
  tessera_device_error ignored;
  if (work.has_run) work.api->synchronize_event(work.end, &ignored);
  drop_recording(instance);
}

void tear_down_device(tessera_instance& instance) {
  DeviceWork& work = instance.work;
  for (auto* blocks : {&work.inputs, &work.outputs, &work.staging}) {
    for (Block& block : *blocks) release_block(instance, &block);
  }
  release_block(instance, &work.flag);
  release_block(instance, &work.copies);
  release_block(instance, &work.sent);
  release_block(instance, &work.weight_copies);
  for (const DeviceMark& mark : work.marks) work.api->destroy_event(mark.event);
  if (work.begin != nullptr) work.api->destroy_event(work.begin);
  if (work.end != nullptr) work.api->destroy_event(work.end);
  if (work.stream != nullptr) work.api->destroy_stream(work.stream);
}

std::int32_t wait_for_device(tessera_instance& instance) {
  DeviceWork& work = instance.work;
  if (!work.has_run) return TESSERA_OK;
  const DeviceScope scope(work.api, instance.device);
  tessera_device_error error = {};
  const std::int32_t status = work.api->synchronize_event(work.end, &error);
  return status == TESSERA_OK ? take_fault(instance) : fail_on_device(status, error);
}

std::int32_t device_time(tessera_instance& instance, std::uint64_t* ns) {
  DeviceWork& work = instance.work;
  if (!work.has_run) return TESSERA_OK;
  if (std::int32_t status = wait_for_device(instance)) return status;
  tessera_device_error error = {};
  const std::int32_t status = work.api->elapsed_ns(work.begin, work.end, ns, &error);
  return status == TESSERA_OK ? status : fail_on_device(status, error);
}

std::int32_t copy_to_device(tessera_instance& instance, void* to, const void* from,
                            std::uint64_t bytes) {
  if (std::int32_t status = wait_for_device(instance)) return status;
  const tessera_device_api& api = *instance.work.api;
  tessera_device_error error = {};
  std::int32_t status = api.copy(to, from, bytes, instance.work.stream, &error);
  if (status == TESSERA_OK) status = api.synchronize(instance.work.stream, &error);
  return status == TESSERA_OK ? status : fail_on_device(status, error);
}

}  // namespace tessera::runtime
