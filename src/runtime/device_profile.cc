// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_run.h"
#include "runtime/profile.h"

namespace tessera::runtime {

void start_device_profile(tessera_instance& instance) { instance.work.mark_count = 0; }

// A mark that cannot be made leaves its step out.
void mark_device_step(tessera_instance& instance, std::int32_t step) {
  DeviceWork& work = instance.work;
  tessera_device_error ignored;
  if (work.mark_count == work.marks.size()) {
    DeviceMark fresh = {nullptr, step};
    if (work.api->create_event(&fresh.event, &ignored) != TESSERA_OK) return;
    if (!work.marks.push(fresh)) return work.api->destroy_event(fresh.event);
  }
  DeviceMark& mark = work.marks[work.mark_count];
  mark.step = step;
  if (work.api->record_event(mark.event, instance.call.stream, &ignored) == TESSERA_OK) {
    ++work.mark_count;
  }
}

std::int32_t finish_device_profile(tessera_instance& instance) {
  DeviceWork& work = instance.work;
  tessera_device_error error = {};
  std::uint64_t start = 0;
  void* before = work.begin;
  for (std::size_t i = 0; i < work.mark_count; ++i) {
    const DeviceMark& mark = work.marks[i];
    std::uint64_t spent = 0;
    if (std::int32_t status = work.api->elapsed_ns(before, mark.event, &spent, &error)) {
      return fail_on_device(status, error);
    }
    add_step(instance.profile, mark.step, start, spent);
    start += spent;
    before = mark.event;
  }
  return TESSERA_OK;
}

}  // namespace tessera::runtime
