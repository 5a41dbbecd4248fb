// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/runtime/openvino_runtime.h"

#include "backends/openvino/runtime/call_site.h"
#include "runtime/back_end_state.h"

namespace openvino = tessera::backends::openvino;
namespace runtime = tessera::runtime;
using runtime::TextBuffer;

int32_t tessera_openvino_create_library(const tessera_state_args* args, void** state) {
  runtime::OpenedLibrary opened = {args, tessera_vendor_library(args, openvino::kLibraryFile)};
  if (opened.library == nullptr) return 1;
  auto* library = runtime::create<openvino::Library>();
  if (library == nullptr) return runtime::out_of_memory(args);
  TextBuffer error;
  if (openvino::load_api(&library->api, runtime::vendor_function, &opened)) {
    library->core = openvino::create_core(library->api, &error);
    if (library->core == nullptr) args->set_error(args, error.text());
  }
  if (library->core != nullptr) {
    *state = library;
    return 0;
  }
  runtime::destroy(library);
  return 1;
}

void tessera_openvino_destroy_library(void* state) {
  runtime::destroy(static_cast<openvino::Library*>(state));
}

int32_t tessera_openvino_create_call_site(const tessera_state_args* args, void** state) {
  const auto& library = *static_cast<const openvino::Library*>(args->states->library);
  auto* site = runtime::create<openvino::CallSite>(library);
  if (site == nullptr) return runtime::out_of_memory(args);
  TextBuffer error;
  if (site->create(args->artifacts[0], args->threads, &error)) {
    *state = site;
    return 0;
  }
  runtime::destroy(site);
  args->set_error(args, error.text()[0] != '\0' ? error.text() : "out of memory");
  return 1;
}

void tessera_openvino_destroy_call_site(void* state) {
  runtime::destroy(static_cast<openvino::CallSite*>(state));
}

int32_t tessera_openvino_run(const tessera_call* call, tessera_tensor** tensors,
                             int32_t tensor_count) {
  TextBuffer error;
  auto* site = static_cast<openvino::CallSite*>(call->states->call_site);
  if (site->run(tensors, tensor_count, &error)) return 0;
  call->set_error(call, error.text());
  return 1;
}
