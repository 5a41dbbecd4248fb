// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/runtime/cudnn_runtime.h"

#include "backends/cudnn/runtime/call_site.h"
#include "runtime/back_end_state.h"

namespace tessera::backends::cudnn {
namespace {

bool open(const tessera_state_args* args, Instance* instance, TextBuffer* error) {
  runtime::OpenedLibrary opened = {args, tessera_vendor_library(args, kLibraryFile)};
  return opened.library != nullptr && load_api(&instance->api, runtime::vendor_function, &opened) &&
         instance->device.open(instance->api, error);
}

}  // namespace
}  // namespace tessera::backends::cudnn

namespace cudnn = tessera::backends::cudnn;
namespace runtime = tessera::runtime;

int32_t tessera_cudnn_create_instance(const tessera_state_args* args, void** state) {
  cudnn::TextBuffer error;
  auto* instance = runtime::create<cudnn::Instance>();
  if (instance == nullptr) return runtime::out_of_memory(args);
  if (!cudnn::open(args, instance, &error)) {
    runtime::destroy(instance);
    return runtime::failed(args, error);
  }
  *state = instance;
  return 0;
}

void tessera_cudnn_destroy_instance(void* state) {
  runtime::destroy(static_cast<cudnn::Instance*>(state));
}

int32_t tessera_cudnn_create_call_site(const tessera_state_args* args, void** state) {
  cudnn::TextBuffer error;
  auto* site = runtime::create<cudnn::CallSite>(
      *static_cast<cudnn::Instance*>(args->states->instance), runtime::state_memory(args));
  if (site == nullptr) return runtime::out_of_memory(args);
  if (!site->create(args->artifacts[0], &error)) {
    runtime::destroy(site);
    return runtime::failed(args, error);
  }
  if (site->note()[0] != '\0') args->set_note(args, site->note());
  *state = site;
  return 0;
}

void tessera_cudnn_destroy_call_site(void* state) {
  runtime::destroy(static_cast<cudnn::CallSite*>(state));
}

int32_t tessera_cudnn_run(const tessera_call* call, tessera_tensor** tensors,
                          int32_t tensor_count) {
  return runtime::run_call_site<cudnn::CallSite>(call, tensors, tensor_count);
}
