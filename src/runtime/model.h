// SPDX-License-Identifier: Apache-2.0
// What stands behind the opaque `tessera_model`.
#pragma once

#include <atomic>

#include "runtime/array.h"
#include "runtime/program.h"
#include "runtime/vendor.h"

namespace tessera::runtime {

// What all instances on one device share: library states, one a back end, and the constants.
// Created by the first of them.
struct DeviceStates {
  tessera_device device;
  std::uint32_t forks;  // of this process, when they were created
  Array<void*> states;
  // On a device other than the CPU: the constants' data there, in one piece of memory.
  void* constants_memory;
  std::uint64_t constants_bytes;
  Array<const void*> constants;
  DeviceStates* next;
};

struct BackendArtifacts {
  const tessera_artifact_view* views;
  std::int32_t count;
};

}  // namespace tessera::runtime

struct tessera_model {
  const tessera_program* program;
  std::atomic<std::int32_t> references;  // the caller's, and one an instance
  tessera::runtime::VendorLibraries vendors;
  tessera::runtime::Array<const void*> constants;
  bool has_unpacked;  // its program's weights, which are to be released

  // What back ends are shown: views of one back end lie together.
  tessera::runtime::Array<tessera_named_tensor> artifact_constants;
  tessera::runtime::Array<tessera_artifact_view> artifacts;
  tessera::runtime::Array<std::int32_t> artifact_of_extern;
  tessera::runtime::Array<tessera::runtime::BackendArtifacts> artifacts_of_backend;

  tessera::runtime::DeviceStates* device_states;  // guarded by ForkLock
};

namespace tessera::runtime {

void retain(tessera_model* model);
void release(tessera_model* model);

// Fills the tables of views above. False: out of memory.
[[nodiscard]] bool collect_artifacts(tessera_model& model);

// The library states for `device`, created on first use with `threads`; null: *status says why.
DeviceStates* library_states(tessera_model& model, tessera_device device, std::int32_t threads,
                             std::int32_t* status);

// Creates the state of one lifetime for back end `backend` (an index), seeing `artifacts`. A
// status. *note, which the caller frees, is what the back end has to say; null: nothing.
std::int32_t create_state(tessera_model& model, std::int32_t backend, tessera_device device,
                          std::int32_t threads, BackendArtifacts artifacts,
                          const tessera_states& outer, tessera_state_create_fn create, void** state,
                          char** note = nullptr);

void destroy_device_states(tessera_model& model);

// Puts the constants into the device's memory. A status.
std::int32_t upload_constants(const tessera_model& model, DeviceStates& states);

}  // namespace tessera::runtime
