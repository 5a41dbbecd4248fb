// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/onednn_runtime.h"

#include "backends/onednn/runtime/call_site.h"
#include "runtime/back_end_state.h"

namespace tessera::backends::onednn {
namespace {

struct Instance {
  Library* library = nullptr;
  dnnl_stream_t stream = nullptr;
};

}  // namespace
}  // namespace tessera::backends::onednn

namespace onednn = tessera::backends::onednn;
namespace runtime = tessera::runtime;
using runtime::TextBuffer;

int32_t tessera_onednn_create_library(const tessera_state_args* args, void** state) {
  runtime::OpenedLibrary opened = {args, tessera_vendor_library(args, onednn::kLibraryFile)};
  if (opened.library == nullptr) return 1;
  TextBuffer error;
  auto* library = runtime::create<onednn::Library>();
  if (library == nullptr) return runtime::out_of_memory(args);
  if (!library->open(runtime::vendor_function, &opened, &error)) {
    runtime::destroy(library);
    return runtime::failed(args, error);
  }
  *state = library;
  return 0;
}

void tessera_onednn_destroy_library(void* state) {
  runtime::destroy(static_cast<onednn::Library*>(state));
}

int32_t tessera_onednn_create_instance(const tessera_state_args* args, void** state) {
  TextBuffer error;
  auto* instance = runtime::create<onednn::Instance>();
  if (instance == nullptr) return runtime::out_of_memory(args);
  instance->library = static_cast<onednn::Library*>(args->states->library);
  const dnnl_status_t status = instance->library->api().stream_create(
      &instance->stream, instance->library->engine(), dnnl_stream_default_flags);
  if (status != dnnl_success) {
    runtime::destroy(instance);
    error.add("oneDNN gives no stream: %s", onednn::status_text(status));
    return runtime::failed(args, error);
  }
  *state = instance;
  return 0;
}

void tessera_onednn_destroy_instance(void* state) {
  auto* instance = static_cast<onednn::Instance*>(state);
  if (instance == nullptr) return;
  instance->library->api().stream_destroy(instance->stream);
  runtime::destroy(instance);
}

int32_t tessera_onednn_create_call_site(const tessera_state_args* args, void** state) {
  TextBuffer error;
  const auto* instance = static_cast<const onednn::Instance*>(args->states->instance);
  auto* site =
      runtime::create<onednn::CallSite>(*instance->library, instance->stream, args->threads);
  if (site == nullptr) return runtime::out_of_memory(args);
  if (!site->create(args->artifacts[0], &error)) {
    runtime::destroy(site);
    if (error.text()[0] == '\0') error.add("out of memory");
    return runtime::failed(args, error);
  }
  *state = site;
  return 0;
}

void tessera_onednn_destroy_call_site(void* state) {
  runtime::destroy(static_cast<onednn::CallSite*>(state));
}

int32_t tessera_onednn_run(const tessera_call* call, tessera_tensor** tensors,
                           int32_t tensor_count) {
  return runtime::run_call_site<onednn::CallSite>(call, tensors, tensor_count);
}
