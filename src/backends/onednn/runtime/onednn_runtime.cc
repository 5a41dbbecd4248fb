// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/onednn_runtime.h"

#include "backends/onednn/runtime/call_site.h"

namespace tessera::backends::onednn {
namespace {

struct Opened {
  const tessera_state_args* args;
  void* library;
};

void* look_up(void* context, const char* symbol) {
  const auto* opened = static_cast<const Opened*>(context);
  return tessera_vendor_symbol(opened->args, opened->library, symbol);
}

// Sets the error unless a callee has; for use as `return failed(...)`.
std::int32_t failed(const tessera_state_args* args, const TextBuffer& error) {
  if (error.text()[0] != '\0') args->set_error(args, error.text());
  return 1;
}

struct Instance {
  Library* library = nullptr;
  dnnl_stream_t stream = nullptr;
};

}  // namespace
}  // namespace tessera::backends::onednn

namespace onednn = tessera::backends::onednn;
using tessera::runtime::TextBuffer;

int32_t tessera_onednn_create_library(const tessera_state_args* args, void** state) {
  onednn::Opened opened = {args, tessera_vendor_library(args, onednn::kLibraryFile)};
  if (opened.library == nullptr) return 1;
  TextBuffer error;
  auto* library = tessera::runtime::create<onednn::Library>();
  if (library == nullptr) {
    error.add("out of memory");
    return onednn::failed(args, error);
  }
  if (!library->open(onednn::look_up, &opened, &error)) {
    tessera::runtime::destroy(library);
    return onednn::failed(args, error);
  }
  *state = library;
  return 0;
}

void tessera_onednn_destroy_library(void* state) {
  tessera::runtime::destroy(static_cast<onednn::Library*>(state));
}

int32_t tessera_onednn_create_instance(const tessera_state_args* args, void** state) {
  TextBuffer error;
  auto* instance = tessera::runtime::create<onednn::Instance>();
  if (instance == nullptr) {
    error.add("out of memory");
    return onednn::failed(args, error);
  }
  instance->library = static_cast<onednn::Library*>(args->states->library);
  const dnnl_status_t status = instance->library->api().stream_create(
      &instance->stream, instance->library->engine(), dnnl_stream_default_flags);
  if (status != dnnl_success) {
    tessera::runtime::destroy(instance);
    error.add("oneDNN gives no stream: %s", onednn::status_text(status));
    return onednn::failed(args, error);
  }
  *state = instance;
  return 0;
}

void tessera_onednn_destroy_instance(void* state) {
  auto* instance = static_cast<onednn::Instance*>(state);
  if (instance == nullptr) return;
  instance->library->api().stream_destroy(instance->stream);
  tessera::runtime::destroy(instance);
}

int32_t tessera_onednn_create_call_site(const tessera_state_args* args, void** state) {
  TextBuffer error;
  const auto* instance = static_cast<const onednn::Instance*>(args->states->instance);
  void* memory = std::malloc(sizeof(onednn::CallSite));
  if (memory == nullptr) {
    error.add("out of memory");
    return onednn::failed(args, error);
  }
  auto* site = ::new (memory) onednn::CallSite(*instance->library, instance->stream);
  if (!site->create(args->artifacts[0], &error)) {
    tessera::runtime::destroy(site);
    if (error.text()[0] == '\0') error.add("out of memory");
    return onednn::failed(args, error);
  }
  *state = site;
  return 0;
}

void tessera_onednn_destroy_call_site(void* state) {
  tessera::runtime::destroy(static_cast<onednn::CallSite*>(state));
}

int32_t tessera_onednn_run(const tessera_call* call, tessera_tensor** tensors,
                           int32_t tensor_count) {
  TextBuffer error;
  auto* site = static_cast<onednn::CallSite*>(call->states->call_site);
  if (site->run(*call, tensors, tensor_count, &error)) return 0;
  call->set_error(call, error.text());
  return 1;
}
