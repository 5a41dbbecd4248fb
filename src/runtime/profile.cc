// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile.h"

#include <algorithm>
#include <cstring>

#include <time.h>

#include "runtime/device_run.h"
#include "runtime/versioned.h"

namespace tessera::runtime {
namespace {

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + now.tv_nsec;
}

const char* note_of(const tessera_instance& instance, const char* kernel) {
  const tessera_program& program = *instance.model->program;
  for (std::int32_t i = 0; i < program.extern_count; ++i) {
    if (std::strcmp(program.externs[i].symbol, kernel) == 0) return instance.notes[i];
  }
  return nullptr;
}

}  // namespace

void add_step(tessera_profile& profile, std::int32_t step, std::uint64_t start_ns,
              std::uint64_t spent_ns) {
  StepTimes& times = profile.steps[step];
  times.min_ns = times.calls == 0 ? spent_ns : std::min(times.min_ns, spent_ns);
  times.calls += 1;
  times.total_ns += spent_ns;
  times.last_start_ns = start_ns;
  times.last_ns = spent_ns;
}

void start_run(tessera_profile& profile) { profile.run_start_ns = profile.last_mark_ns = now_ns(); }

}  // namespace tessera::runtime

void tessera_profile_mark(tessera_profile* profile, int32_t step) {
  if (profile->on_device != nullptr) {
    return tessera::runtime::mark_device_step(*profile->on_device, step);
  }
  const std::uint64_t now = tessera::runtime::now_ns();
  const std::uint64_t spent = now - profile->last_mark_ns;
  tessera::runtime::add_step(*profile, step, profile->last_mark_ns - profile->run_start_ns, spent);
  profile->last_mark_ns = now;
}

int32_t tessera_instance_profile(tessera_instance* instance, int32_t on) {
  using namespace tessera::runtime;
  return alone(instance, [&] {
    instance->profiling = on != 0;
    if (on != 0) {
      std::fill(instance->profile.steps.begin(), instance->profile.steps.end(), StepTimes{});
    }
    return std::int32_t{TESSERA_OK};
  });
}

int32_t tessera_instance_profile_count(const tessera_instance* instance) {
  return instance == nullptr ? 0 : instance->model->program->step_count;
}

int32_t tessera_instance_profile_entry(const tessera_instance* instance, int32_t index,
                                       tessera_profile_entry* entry) {
  using namespace tessera::runtime;
  if (instance == nullptr || entry == nullptr) {
    return fail(TESSERA_INVALID_ARGUMENT, "`%s` is a null pointer",
                instance == nullptr ? "instance" : "entry");
  }
  const tessera_program& program = *instance->model->program;
  if (index < 0 || index >= program.step_count) {
    return fail(TESSERA_INVALID_ARGUMENT, "there is no profile entry %d; the model has %d", index,
                program.step_count);
  }
  const StepTimes& times = instance->profile.steps[index];
  const tessera_program_step& step = program.steps[index];
  const tessera_profile_entry full = {sizeof(tessera_profile_entry),
                                      0,
                                      step.kernel,
                                      step.backend,
                                      times.calls,
                                      times.total_ns,
                                      times.min_ns,
                                      times.last_start_ns,
                                      times.last_ns,
                                      note_of(*instance, step.kernel)};
  return copy_versioned(full, entry, "tessera_profile_entry");
}
