// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/runtime/cublas_runtime.h"

#include <algorithm>

#include "backends/cublas/runtime/call_site.h"
#include "runtime/array.h"
#include "runtime/back_end_state.h"

namespace cublas = tessera::backends::cublas;
namespace runtime = tessera::runtime;
using runtime::TextBuffer;

namespace {

bool read_artifact(const tessera_artifact_view& artifact, cublas::Spec* spec, TextBuffer* error) {
  return cublas::read_spec(static_cast<const char*>(artifact.payload),
                           static_cast<std::size_t>(artifact.payload_bytes), spec, error);
}

// As many as the model's product with most.
bool make_ones(const tessera_state_args* args, cublas::Library* library, TextBuffer* error) {
  for (std::int32_t i = 0; i < args->artifact_count; ++i) {
    cublas::Spec spec;
    if (!read_artifact(args->artifacts[i], &spec, error)) return false;
    library->ones_count = std::max(library->ones_count, cublas::ones_for(spec));
  }
  if (library->ones_count == 0) return true;
  runtime::Array<float> ones;
  if (!ones.allocate(static_cast<std::size_t>(library->ones_count))) {
    error->add("out of memory");
    return false;
  }
  std::fill_n(ones.data(), library->ones_count, 1.0f);
  const std::uint64_t bytes = static_cast<std::uint64_t>(library->ones_count) * sizeof(float);
  library->memory = runtime::state_memory(args);
  return library->memory.allocate(bytes, &library->ones, error) &&
         library->memory.upload(library->ones, ones.data(), bytes, error);
}

}  // namespace

int32_t tessera_cublas_create_library(const tessera_state_args* args, void** state) {
  runtime::OpenedLibrary opened = {args, tessera_vendor_library(args, cublas::kLibraryFile)};
  if (opened.library == nullptr) return 1;
  auto* library = runtime::create<cublas::Library>();
  if (library == nullptr) return runtime::out_of_memory(args);
  if (!cublas::load_api(&library->api, runtime::vendor_function, &opened)) {
    runtime::destroy(library);
    return 1;
  }
  library->version = library->api.GetVersion();
  TextBuffer error;
  const cublasStatus_t status = library->api.Create(&library->handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    error.add("cublasLt gives no handle: %s", library->api.GetStatusString(status));
    runtime::destroy(library);
    return runtime::failed(args, error);
  }
  if (!make_ones(args, library, &error)) {
    tessera_cublas_destroy_library(library);
    return runtime::failed(args, error);
  }
  *state = library;
  return 0;
}

void tessera_cublas_destroy_library(void* state) {
  auto* library = static_cast<cublas::Library*>(state);
  if (library == nullptr) return;
  library->memory.release(library->ones);
  library->api.Destroy(library->handle);
  runtime::destroy(library);
}

int32_t tessera_cublas_create_call_site(const tessera_state_args* args, void** state) {
  TextBuffer error;
  cublas::Spec spec;
  if (!read_artifact(args->artifacts[0], &spec, &error)) return runtime::failed(args, error);
  const auto& library = *static_cast<const cublas::Library*>(args->states->library);
  auto* site = runtime::create<cublas::CallSite>(library, spec);
  if (site == nullptr) return runtime::out_of_memory(args);
  if (!site->create(&error)) {
    runtime::destroy(site);
    return runtime::failed(args, error);
  }
  if (site->note()[0] != '\0') args->set_note(args, site->note());
  *state = site;
  return 0;
}

void tessera_cublas_destroy_call_site(void* state) {
  runtime::destroy(static_cast<cublas::CallSite*>(state));
}

int32_t tessera_cublas_run(const tessera_call* call, tessera_tensor** tensors,
                           int32_t tensor_count) {
  return runtime::run_call_site<cublas::CallSite>(call, tensors, tensor_count);
}
