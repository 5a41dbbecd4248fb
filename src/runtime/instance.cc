// SPDX-License-Identifier: Apache-2.0
#include "runtime/instance.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/arguments.h"
#include "runtime/device_run.h"
#include "runtime/device_scope.h"
#include "runtime/fork.h"
#include "runtime/places.h"
#include "runtime/threads.h"

namespace tessera::runtime {
namespace {

constexpr std::uint64_t kWorkspaceAlign = 64;
constexpr std::uint64_t kMostBytes = INT64_MAX;  // of a block; no address space has more

void* default_allocate(void* context, std::uint64_t bytes, std::uint64_t align_bytes,
                       tessera_device device) {
  if (device.device_type != TESSERA_CPU) {
    auto* instance = static_cast<tessera_instance*>(context);
    const tessera_device_api& api = *instance->work.api;
    tessera_device_error error = {};
    void* memory = nullptr;
    const bool pinned = device.device_type == TESSERA_CUDA_HOST;
    if ((pinned ? api.allocate_host : api.allocate)(bytes, &memory, &error) != TESSERA_OK) {
      std::snprintf(instance->error, sizeof instance->error, "%s", error.text);
    }
    return memory;
  }
  const std::uint64_t align = std::max<std::uint64_t>(align_bytes, 64);
  return std::aligned_alloc(align, (bytes + align - 1) / align * align);
}

void default_release(void* context, void* memory, std::uint64_t, tessera_device device) {
  if (device.device_type == TESSERA_CPU) return std::free(memory);
  const tessera_device_api& api = *static_cast<tessera_instance*>(context)->work.api;
  (device.device_type == TESSERA_CUDA_HOST ? api.release_host : api.release)(memory);
}

void set_call_error(const tessera_call* call, const char* text) {
  set_run_error(*static_cast<tessera_instance*>(call->runtime), TESSERA_KERNEL_FAILED, text);
}

std::int32_t check_threads(std::int32_t threads) {
  if (threads < 0) {
    return fail(TESSERA_INVALID_ARGUMENT, "%d threads asked for; 0 means all CPUs", threads);
  }
  const bool is_default = threads == 0;
  if (is_default) threads = default_threads();
  if (threads > TESSERA_MAX_THREADS) {
    return fail(TESSERA_INVALID_ARGUMENT, "%d threads asked for%s; an instance has at most %d",
                threads, is_default ? " by OMP_NUM_THREADS" : "", TESSERA_MAX_THREADS);
  }
  return TESSERA_OK;
}

std::int32_t check_thread_settings(const tessera_instance_options& options) {
  if (options.thread_pool != nullptr && options.thread_pool->run == nullptr) {
    return fail(TESSERA_INVALID_ARGUMENT, "the thread pool's function `run` is a null pointer");
  }
  if (options.thread_cpu_count < 0 ||
      (options.thread_cpu_count > 0 && options.thread_cpus == nullptr)) {
    return fail(TESSERA_INVALID_ARGUMENT, "thread_cpu_count is %d, and `thread_cpus` is %s",
                options.thread_cpu_count,
                options.thread_cpus == nullptr ? "a null pointer" : "not");
  }
  for (std::int32_t i = 0; i < options.thread_cpu_count; ++i) {
    const std::int32_t cpu = options.thread_cpus[i];
    if (cpu >= 0 && cpu < CPU_SETSIZE) continue;
    return fail(TESSERA_INVALID_ARGUMENT, "thread_cpus[%d] is %d; CPUs have numbers from 0 to %d",
                i, cpu, CPU_SETSIZE - 1);
  }
  return TESSERA_OK;
}

// What the caller knows of the options, and the defaults of what has been added since.
tessera_instance_options complete(const tessera_instance_options* given) {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  if (given == nullptr) return options;
  std::memcpy(&options, given, std::min<std::size_t>(given->struct_bytes, sizeof options));
  return options;
}

std::int32_t check_pool_options(const tessera_program& program,
                                const tessera_instance_options& options) {
  const bool any = options.pools != nullptr || options.pool_memory != nullptr;
  if (options.pools != nullptr && options.pool_memory != nullptr) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "`pools` and `pool_memory` are both given: leave one of them null");
  }
  if (!any && options.pool_count != 0) {
    return fail(TESSERA_INVALID_ARGUMENT, "pool_count is %d, but `pools` is a null pointer",
                options.pool_count);
  }
  if (any && options.pool_count != program.pool_count) {
    return fail(TESSERA_INVALID_ARGUMENT, "%d pools given, the model has %d", options.pool_count,
                program.pool_count);
  }
  return TESSERA_OK;
}

std::int32_t check_options(const tessera_program& program,
                           const tessera_instance_options& options) {
  constexpr std::size_t kFirst = offsetof(tessera_instance_options, no_replay);  // of the ABI
  if (options.struct_bytes < kFirst) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "struct_bytes of tessera_instance_options is %u, not at least %zu: start from "
                "TESSERA_INSTANCE_OPTIONS_INIT",
                options.struct_bytes, kFirst);
  }
  if (std::int32_t status = check_threads(options.threads)) return status;
  if (std::int32_t status = check_thread_settings(options)) return status;
  if (options.weight_copies < 0) {
    return fail(TESSERA_INVALID_ARGUMENT, "weight_copies is %d", options.weight_copies);
  }
  if (options.allocator != nullptr &&
      (options.allocator->allocate == nullptr || options.allocator->release == nullptr)) {
    return fail(TESSERA_INVALID_ARGUMENT, "the allocator's function `%s` is a null pointer",
                options.allocator->allocate == nullptr ? "allocate" : "release");
  }
  const std::int32_t kind = options.device.device_type;
  if (kind == 0 && options.device.device_id != 0) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "a device of number %d was asked for, and not of which kind: set device_type",
                options.device.device_id);
  }
  if (kind != 0 && kind != program.device.device_type) {
    return fail(TESSERA_WRONG_MACHINE,
                "an instance on %s was asked for, the model was compiled for %s",
                name_of(options.device).text,
                program.device.device_type == TESSERA_CUDA ? "CUDA devices" : "the CPU");
  }
  if (program.device.device_type == TESSERA_CPU && options.device.device_id != 0) {
    return fail(TESSERA_INVALID_ARGUMENT, "an instance on CPU %d was asked for; there is only 0",
                options.device.device_id);
  }
  return check_pool_options(program, options);
}

// What the caller says of the memory that it gives.
std::int32_t check_given(const tessera_instance& instance, const tessera_program_pool& pool,
                         const tessera_pool_memory& given) {
  if (given.bytes < pool.bytes) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "the memory given for pool `%s` has %" PRIu64 " bytes, and the pool needs %" PRIu64,
                pool.name, given.bytes, pool.bytes);
  }
  const tessera_device& device = instance.device;
  if (given.device.device_type != device.device_type ||
      given.device.device_id != device.device_id) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "the memory given for pool `%s` is on %s, and the instance on %s", pool.name,
                name_of(given.device).text, name_of(device).text);
  }
  return TESSERA_OK;
}

std::int32_t set_up_pools(tessera_instance& instance, const tessera_instance_options& options) {
  const tessera_program& program = *instance.model->program;
  if (!instance.pools.allocate(program.pool_count) ||
      !instance.pool_pointers.allocate(program.pool_count)) {
    return fail_out_of_memory("the table of pools");
  }
  for (std::int32_t i = 0; i < program.pool_count; ++i) {
    const tessera_program_pool& pool = program.pools[i];
    void* given = options.pools == nullptr ? nullptr : options.pools[i];
    if (options.pool_memory != nullptr && options.pool_memory[i].data != nullptr) {
      given = options.pool_memory[i].data;
      if (std::int32_t status = check_given(instance, pool, options.pool_memory[i])) return status;
    }
    if (given == nullptr) {
      if (std::int32_t status = allocate_block(instance, pool.bytes, pool.align_bytes, pool.name,
                                               &instance.pools[i])) {
        return status;
      }
    } else if (reinterpret_cast<std::uintptr_t>(given) % std::max(1u, pool.align_bytes) != 0) {
      return fail(TESSERA_INVALID_ARGUMENT,
                  "the memory given for pool `%s` is not aligned to %u bytes", pool.name,
                  pool.align_bytes);
    } else {
      instance.pools[i] = {given, pool.bytes, false, instance.device};
    }
    instance.pool_pointers[i] = instance.pools[i].data;
  }
  return TESSERA_OK;
}

std::uint64_t workspace_bytes(const tessera_instance& instance,
                              const tessera_program_extern& symbol) {
  if (symbol.workspace_query == nullptr) return symbol.workspace_bytes;
  return symbol.workspace_query(symbol.workspace_max_dims, instance.device, instance.threads);
}

// One `tessera_call` an extern, with its workspace: in a pool, or in the block that they share.
std::int32_t set_up_calls(tessera_instance& instance) {
  const tessera_program& program = *instance.model->program;
  instance.call = {
      sizeof(tessera_call), instance.threads, instance.device,  nullptr, nullptr, 0, nullptr,
      set_call_error,       &instance,        &instance.workers};
  if (!instance.extern_calls.allocate(program.extern_count) ||
      !instance.states.allocate(program.extern_count)) {
    return fail_out_of_memory("the table of calls");
  }
  std::uint64_t shared = 0;
  for (std::int32_t i = 0; i < program.extern_count; ++i) {
    tessera_call& call = instance.extern_calls[i];
    call = instance.call;
    call.states = &instance.states[i];
    call.workspace_bytes = workspace_bytes(instance, program.externs[i]);
    if (program.externs[i].workspace_pool < 0) shared = std::max(shared, call.workspace_bytes);
  }
  if (std::int32_t status =
          allocate_block(instance, shared, kWorkspaceAlign, "the workspace", &instance.workspace)) {
    return status;
  }
  for (std::int32_t i = 0; i < program.extern_count; ++i) {
    const tessera_program_extern& symbol = program.externs[i];
    tessera_call& call = instance.extern_calls[i];
    if (call.workspace_bytes == 0) continue;
    call.workspace = symbol.workspace_pool < 0
                         ? instance.workspace.data
                         : static_cast<char*>(instance.pool_pointers[symbol.workspace_pool]) +
                               symbol.workspace_offset;
  }
  return TESSERA_OK;
}

std::int32_t set_up_tables(tessera_instance& instance) {
  const tessera_program& program = *instance.model->program;
  const bool all = instance.inputs.allocate(program.input_count + program.kept_weight_count) &&
                   instance.weights.allocate(program.kept_weight_count) &&
                   instance.outputs.allocate(program.output_count) &&
                   instance.dims.allocate(program.symbol_count) &&
                   instance.output_shapes.allocate(total_output_rank(program)) &&
                   instance.output_tensors.allocate(program.output_count) &&
                   instance.own_outputs.allocate(program.output_count) &&
                   instance.ranges.allocate(program.input_count + 2 * program.output_count) &&
                   instance.heap.allocate(program.heap_count) &&
                   instance.profile.steps.allocate(program.step_count);
  return all ? std::int32_t{TESSERA_OK} : fail_out_of_memory("the tables of the instance");
}

std::int32_t set_up(tessera_instance& instance, const tessera_instance_options& options) {
  const tessera_program& program = *instance.model->program;
  instance.vendor_threads.set(instance.threads);
  instance.device = options.device.device_type != 0 ? options.device : program.device;
  instance.profiling = options.profile != 0;
  instance.allocator = options.allocator != nullptr
                           ? *options.allocator
                           : tessera_allocator{&instance, default_allocate, default_release};
  if (std::int32_t status = set_up_tables(instance)) return status;
  if (std::int32_t status = instance.workers.set_up(instance.threads, options)) return status;
  if (program.device_api != nullptr) {
    if (std::int32_t status = set_up_device(instance, options)) return status;
  }
  if (std::int32_t status = set_up_pools(instance, options)) return status;
  set_up_places(instance);
  if (std::int32_t status = set_up_calls(instance)) return status;
  if (std::int32_t status =
          instance.vendor_threads.run([&] { return create_instance_states(instance); })) {
    return status;
  }
  if (program.device_api != nullptr) {
    if (std::int32_t status = copy_weights(instance, options.weight_copies)) return status;
    ask_for_recording(instance);
  }
  for (std::int32_t i = 0; i < program.kept_weight_count; ++i) use_default_weight(instance, i);
  return TESSERA_OK;
}

void give_back(tessera_instance* instance) {
  const DeviceScope scope(instance->work.api, instance->device);
  if (instance->work.api != nullptr) finish_device_work(*instance);
  destroy_instance_states(*instance);
  for (Block& block : instance->pools) release_block(*instance, &block);
  for (Block& block : instance->own_outputs) release_block(*instance, &block);
  for (Block& block : instance->weights) release_block(*instance, &block);
  for (Block& block : instance->heap) release_block(*instance, &block);
  release_block(*instance, &instance->workspace);
  if (instance->work.api != nullptr) tear_down_device(*instance);
}

void tear_down(tessera_instance* instance) {
  if (!is_left_behind(*instance)) give_back(instance);
  tessera_model* model = instance->model;
  destroy(instance);
  release(model);
}

}  // namespace

std::int32_t allocate_block(tessera_instance& instance, std::uint64_t bytes,
                            std::uint64_t align_bytes, const char* what, Block* block) {
  return allocate_block(instance, instance.device, bytes, align_bytes, what, block);
}

std::int32_t allocate_block(tessera_instance& instance, tessera_device device, std::uint64_t bytes,
                            std::uint64_t align_bytes, const char* what, Block* block) {
  *block = {};
  if (bytes == 0) return TESSERA_OK;
  if (bytes > kMostBytes) {
    return fail(TESSERA_OUT_OF_MEMORY, "out of memory for %s: %" PRIu64 " bytes", what, bytes);
  }
  instance.error[0] = '\0';
  void* data = instance.allocator.allocate(instance.allocator.context, bytes, align_bytes, device);
  if (data == nullptr && instance.error[0] != '\0') {
    return fail(TESSERA_OUT_OF_MEMORY, "memory for %s: %s", what, instance.error);
  }
  if (data == nullptr) {
    return fail(TESSERA_OUT_OF_MEMORY, "out of memory for %s: %" PRIu64 " bytes", what, bytes);
  }
  *block = {data, bytes, true, device};
  if (reinterpret_cast<std::uintptr_t>(data) % std::max<std::uint64_t>(align_bytes, 1) == 0) {
    return TESSERA_OK;
  }
  release_block(instance, block);
  return fail(TESSERA_INVALID_ARGUMENT,
              "the allocator gave memory for %s that is not aligned to %" PRIu64 " bytes: %p", what,
              align_bytes, data);
}

bool is_left_behind(const tessera_instance& instance) {
  return instance.work.api != nullptr && instance.forks != num_forks();
}

std::int32_t fail_left_behind() {
  return fail(TESSERA_INVALID_ARGUMENT,
              "this process is a fork of one that used the device, and what is on the device does "
              "not follow: create the instance in a process whose parent has not used it");
}

void clear_run_error(tessera_instance& instance) {
  instance.has_error.store(0, std::memory_order_relaxed);
  instance.error_status = TESSERA_KERNEL_FAILED;
  instance.error[0] = '\0';
}

void set_run_error(tessera_instance& instance, std::int32_t status, const char* text) {
  if (instance.has_error.exchange(1, std::memory_order_relaxed) != 0) return;
  instance.error_status = status;
  std::snprintf(instance.error, sizeof instance.error, "%s", text);
}

std::int32_t run_failed(const tessera_instance& instance) {
  return fail(instance.error_status, "the run failed: %s",
              instance.error[0] != '\0' ? instance.error : "a kernel gave no reason");
}

void settle_sizes(tessera_instance& instance) {
  for (std::int64_t& size : instance.output_shapes) size = std::max<std::int64_t>(size, 0);
}

void release_block(tessera_instance& instance, Block* block) {
  if (block->owned) {
    instance.allocator.release(instance.allocator.context, block->data, block->bytes,
                               block->device);
  }
  *block = {};
}

std::int32_t create_instance_states(tessera_instance& instance) {
  tessera_model& model = *instance.model;
  const tessera_program& program = *model.program;
  if (!instance.backend_states.allocate(program.backend_count) ||
      !instance.notes.allocate(static_cast<std::size_t>(program.extern_count))) {
    return fail_out_of_memory("the states of back ends");
  }
  std::int32_t status;
  const DeviceStates* library = library_states(model, instance.device, instance.threads, &status);
  if (library == nullptr) return status;
  instance.work.library = library;
  for (std::int32_t b = 0; b < program.backend_count; ++b) {
    const tessera_states outer = {library->states[b], nullptr, nullptr};
    status =
        create_state(model, b, instance.device, instance.threads, model.artifacts_of_backend[b],
                     outer, program.backends[b].create_instance_state, &instance.backend_states[b]);
    if (status != TESSERA_OK) return status;
  }
  for (std::int32_t i = 0; i < program.extern_count; ++i) {
    const std::int32_t b = program.externs[i].backend;
    tessera_states& states = instance.states[i];
    if (b >= 0) states = {library->states[b], instance.backend_states[b], nullptr};
    const BackendArtifacts own = {&model.artifacts[model.artifact_of_extern[i]], 1};
    status = create_state(model, b, instance.device, instance.threads, own, states,
                          program.externs[i].create_call_site_state, &states.call_site,
                          &instance.notes[i]);
    if (status != TESSERA_OK) return status;
  }
  return TESSERA_OK;
}

void destroy_instance_states(tessera_instance& instance) {
  const tessera_program& program = *instance.model->program;
  for (char* note : instance.notes) std::free(note);
  for (std::size_t i = instance.states.size(); i-- > 0;) {
    void* state = instance.states[i].call_site;
    const auto destroy_state = program.externs[i].destroy_call_site_state;
    if (state != nullptr && destroy_state != nullptr) destroy_state(state);
  }
  for (std::size_t b = instance.backend_states.size(); b-- > 0;) {
    void* state = instance.backend_states[b];
    const auto destroy_state = program.backends[b].destroy_instance_state;
    if (state != nullptr && destroy_state != nullptr) destroy_state(state);
  }
}

}  // namespace tessera::runtime

int32_t tessera_instance_create(tessera_model* model, const tessera_instance_options* options,
                                tessera_instance** instance) {
  using namespace tessera::runtime;
  if (instance == nullptr) return fail(TESSERA_INVALID_ARGUMENT, "`instance` is a null pointer");
  *instance = nullptr;
  if (model == nullptr) return fail(TESSERA_INVALID_ARGUMENT, "`model` is a null pointer");
  const tessera_instance_options all = complete(options);
  if (std::int32_t status = check_options(*model->program, all)) return status;
  auto* created = create<tessera_instance>();
  if (created == nullptr) return fail_out_of_memory("the instance");
  created->model = model;
  retain(model);
  created->forks = num_forks();
  created->threads = all.threads > 0 ? all.threads : default_threads();
  const std::int32_t status = with_threads(created->threads, [&] {
    const DeviceScope scope(model->program->device_api, all.device);
    return set_up(*created, all);
  });
  if (status != TESSERA_OK) {
    tear_down(created);
    return status;
  }
  *instance = created;
  return TESSERA_OK;
}

void tessera_instance_destroy(tessera_instance* instance) {
  if (instance != nullptr) tessera::runtime::tear_down(instance);
}
