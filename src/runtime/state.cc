// SPDX-License-Identifier: Apache-2.0
// State of back ends: who creates it, with what in hand, and in which order it goes.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#include "runtime/device_scope.h"
#include "runtime/error.h"
#include "runtime/fork.h"
#include "runtime/model.h"
#include "runtime/state_device.h"

namespace tessera::runtime {
namespace {

// What tessera_state_args::runtime points to.
struct StateContext {
  const tessera_model* model;
  char error[kErrorBytes];
  char* note;
};

void set_state_error(const tessera_state_args* args, const char* text) {
  auto* context = static_cast<StateContext*>(args->runtime);
  std::snprintf(context->error, sizeof context->error, "%s", text);
}

// Of no use where there is no memory for it.
void set_state_note(const tessera_state_args* args, const char* text) {
  auto* context = static_cast<StateContext*>(args->runtime);
  std::free(context->note);
  context->note = ::strdup(text);
}

tessera_named_tensor named_tensor(const tessera_model& model, const char* name,
                                  std::int32_t index) {
  const tessera_program_constant& constant = model.program->constants[index];
  tessera_named_tensor named = {};
  named.name = name;
  // Back ends only read constants; DLPack's layout has no const.
  named.tensor.data = const_cast<void*>(model.constants[index]);
  named.tensor.device = {TESSERA_CPU, 0};
  named.tensor.ndim = constant.ndim;
  named.tensor.dtype = constant.dtype;
  named.tensor.shape = const_cast<std::int64_t*>(constant.shape);
  return named;
}

// Appends the view of extern `index`, whose constants begin at *next of model.artifact_constants.
void add_view(tessera_model& model, std::int32_t index, std::int32_t slot, std::int32_t* next) {
  const tessera_program_extern& symbol = model.program->externs[index];
  tessera_named_tensor* constants = model.artifact_constants.data() + *next;
  for (std::int32_t i = 0; i < symbol.constant_count; ++i) {
    constants[i] = named_tensor(model, symbol.constant_names[i], symbol.constant_indices[i]);
  }
  *next += symbol.constant_count;
  model.artifacts[slot] = {symbol.symbol, symbol.payload, symbol.payload_bytes, constants,
                           symbol.constant_count};
  model.artifact_of_extern[index] = slot;
}

std::int32_t create_library_states(tessera_model& model, DeviceStates& states,
                                   std::int32_t threads) {
  for (std::int32_t b = 0; b < model.program->backend_count; ++b) {
    const std::int32_t status =
        create_state(model, b, states.device, threads, model.artifacts_of_backend[b], {},
                     model.program->backends[b].create_library_state, &states.states[b]);
    if (status != TESSERA_OK) return status;
  }
  return TESSERA_OK;
}

void destroy_library_states(const tessera_model& model, DeviceStates* states) {
  // What a parent process has on a device is the parent's.
  if (model.program->device_api != nullptr && states->forks != num_forks()) return destroy(states);
  for (std::size_t b = states->states.size(); b-- > 0;) {
    const auto destroy_state = model.program->backends[b].destroy_library_state;
    if (states->states[b] != nullptr && destroy_state != nullptr) destroy_state(states->states[b]);
  }
  if (states->constants_memory != nullptr) {
    const DeviceScope scope(model.program->device_api, states->device);
    model.program->device_api->release(states->constants_memory);
  }
  destroy(states);
}

}  // namespace

bool collect_artifacts(tessera_model& model) {
  const tessera_program& program = *model.program;
  std::size_t constants = 0;
  for (std::int32_t i = 0; i < program.extern_count; ++i) {
    constants += program.externs[i].constant_count;
  }
  if (!model.artifact_constants.allocate(constants) ||
      !model.artifacts.allocate(program.extern_count) ||
      !model.artifact_of_extern.allocate(program.extern_count) ||
      !model.artifacts_of_backend.allocate(program.backend_count)) {
    return false;
  }
  std::int32_t slot = 0, next = 0;
  for (std::int32_t b = -1; b < program.backend_count; ++b) {
    const std::int32_t first = slot;
    for (std::int32_t i = 0; i < program.extern_count; ++i) {
      if (program.externs[i].backend == b) add_view(model, i, slot++, &next);
    }
    if (b >= 0) model.artifacts_of_backend[b] = {model.artifacts.data() + first, slot - first};
  }
  return true;
}

std::int32_t create_state(tessera_model& model, std::int32_t backend, tessera_device device,
                          std::int32_t threads, BackendArtifacts artifacts,
                          const tessera_states& outer, tessera_state_create_fn create_fn,
                          void** state, char** note) {
  if (create_fn == nullptr) return TESSERA_OK;
  const char* name = backend < 0 ? "native" : model.program->backends[backend].name;
  StateContext context{&model, "", nullptr};
  const tessera_state_args args = {sizeof(tessera_state_args),
                                   threads,
                                   device,
                                   name,
                                   artifacts.views,
                                   artifacts.count,
                                   &outer,
                                   set_state_error,
                                   &context,
                                   set_state_note};
  const std::int32_t status = create_fn(&args, state);
  if (note != nullptr) {
    *note = context.note;
  } else {
    std::free(context.note);
  }
  if (status == 0) return TESSERA_OK;
  *state = nullptr;
  const bool one = artifacts.count == 1;
  return fail(TESSERA_KERNEL_FAILED, "back end `%s` could not be set up%s%s%s: %s", name,
              one ? " for `" : "", one ? artifacts.views[0].symbol : "", one ? "`" : "",
              context.error[0] != '\0' ? context.error : "it gave no reason");
}

DeviceStates* library_states(tessera_model& model, tessera_device device, std::int32_t threads,
                             std::int32_t* status) {
  *status = TESSERA_OK;
  const ForkLock lock;
  DeviceStates* states = model.device_states;
  while (states != nullptr && (states->device.device_type != device.device_type ||
                               states->device.device_id != device.device_id)) {
    states = states->next;
  }
  if (states == nullptr) {
    states = create<DeviceStates>();
    if (states == nullptr || !states->states.allocate(model.program->backend_count)) {
      *status = fail_out_of_memory("the states of back ends");
    } else {
      states->device = device;
      states->forks = num_forks();
      if (model.program->device_api != nullptr) *status = upload_constants(model, *states);
      if (*status == TESSERA_OK) *status = create_library_states(model, *states, threads);
    }
    if (*status == TESSERA_OK) {
      states->next = model.device_states;
      model.device_states = states;
    } else if (states != nullptr) {
      destroy_library_states(model, states);
      states = nullptr;
    }
  }
  return states;
}

void destroy_device_states(tessera_model& model) {
  while (DeviceStates* states = model.device_states) {
    model.device_states = states->next;
    destroy_library_states(model, states);
  }
}

}  // namespace tessera::runtime

tessera::runtime::StateMemory tessera::runtime::state_memory(const tessera_state_args* args) {
  const auto* context = static_cast<const StateContext*>(args->runtime);
  return StateMemory(context->model->program->device_api);
}

void* tessera_vendor_library(const tessera_state_args* args, const char* file) {
  const auto* context = static_cast<const tessera::runtime::StateContext*>(args->runtime);
  void* handle = context->model->vendors.find(file);
  if (handle == nullptr) {
    tessera::runtime::TextBuffer text;
    text.add("`%s` is not among the vendor libraries that it declared", file);
    args->set_error(args, text.text());
  }
  return handle;
}

void* tessera_vendor_symbol(const tessera_state_args* args, void* library, const char* symbol) {
  void* address = dlsym(library, symbol);
  if (address == nullptr) {
    tessera::runtime::TextBuffer text;
    text.add("its vendor library has no function `%s`: another version is needed", symbol);
    args->set_error(args, text.text());
  }
  return address;
}
