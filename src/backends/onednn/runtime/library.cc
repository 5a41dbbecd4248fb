// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/runtime/library.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/fork.h"

namespace tessera::backends::onednn {

Library::~Library() {
  for (const Reordered& constant : reordered_) {
    api_.memory_desc_destroy(constant.layout);
    std::free(constant.bytes);
  }
  if (engine_ != nullptr) api_.engine_destroy(engine_);
}

bool Library::open(Lookup lookup, void* context, TextBuffer* error) {
  if (!load_api(&api_, lookup, context)) return false;
  const dnnl_version_t* version = api_.version();
  const unsigned threads = version->cpu_runtime;
  const bool is_known = threads == DNNL_RUNTIME_TBB || threads == DNNL_RUNTIME_OMP;
  if (version->major != DNNL_VERSION_MAJOR || !is_known) {
    error->add("oneDNN %d.%d with %s: version %d with oneTBB or OpenMP is needed", version->major,
               version->minor,
               threads == DNNL_RUNTIME_TBB   ? "oneTBB"
               : threads == DNNL_RUNTIME_OMP ? "OpenMP"
                                             : "another thread runtime",
               DNNL_VERSION_MAJOR);
    return false;
  }
  const dnnl_status_t status = api_.engine_create(&engine_, dnnl_cpu, 0);
  if (status == dnnl_success) return true;
  error->add("oneDNN gives no CPU engine: %s", status_text(status));
  return false;
}

const void* Library::reordered(const void* bytes, const_dnnl_memory_desc_t from,
                               const_dnnl_memory_desc_t to, TextBuffer* error) {
  const runtime::ForkLock lock;
  const void* found = nullptr;
  for (const Reordered& constant : reordered_) {
    if (constant.source == bytes && api_.memory_desc_equal(constant.layout, to) != 0) {
      found = constant.bytes;
    }
  }
  return found != nullptr ? found : reorder(bytes, from, to, error);
}

const void* Library::reorder(const void* bytes, const_dnnl_memory_desc_t from,
                             const_dnnl_memory_desc_t to, TextBuffer* error) {
  const std::uint64_t size = (size_bytes(api_, to) + 63) / 64 * 64;
  Reordered constant = {bytes, nullptr, std::aligned_alloc(64, size)};
  const bool done = constant.bytes != nullptr &&
                    api_.memory_desc_clone(&constant.layout, to) == dnnl_success &&
                    run_reorder(api_, engine_, bytes, from, constant.bytes, to, error) &&
                    reordered_.push(constant);
  if (done) {
    const char* verbose = std::getenv("TESSERA_VERBOSE");
    if (verbose != nullptr && std::strcmp(verbose, "") != 0 && std::strcmp(verbose, "0") != 0) {
      std::fprintf(
          stderr,
          "tessera: onednn: a constant of %llu bytes was stored for another CPU, other sizes "
          "or another number of threads, or has sums beside it, and has been reordered\n",
          static_cast<unsigned long long>(size));
    }
    return constant.bytes;
  }
  if (error->text()[0] == '\0') error->add("out of memory for a reordered constant");
  if (constant.layout != nullptr) api_.memory_desc_destroy(constant.layout);
  std::free(constant.bytes);
  return nullptr;
}

namespace {

dnnl_status_t execute_reorder(const Api& api, dnnl_engine_t engine, dnnl_primitive_desc_t desc,
                              const void* from_bytes, const_dnnl_memory_desc_t from, void* to_bytes,
                              const_dnnl_memory_desc_t to) {
  dnnl_primitive_t primitive = nullptr;
  dnnl_memory_t source = nullptr, result = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_status_t status = api.primitive_create(&primitive, desc);
  if (status == dnnl_success) {
    status = api.memory_create(&source, from, engine, const_cast<void*>(from_bytes));
  }
  if (status == dnnl_success) status = api.memory_create(&result, to, engine, to_bytes);
  if (status == dnnl_success) {
    status = api.stream_create(&stream, engine, dnnl_stream_default_flags);
  }
  if (status == dnnl_success) {
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, result}};
    status = api.primitive_execute(primitive, stream, 2, args);
    if (status == dnnl_success) status = api.stream_wait(stream);
  }
  if (stream != nullptr) api.stream_destroy(stream);
  if (result != nullptr) api.memory_destroy(result);
  if (source != nullptr) api.memory_destroy(source);
  if (primitive != nullptr) api.primitive_destroy(primitive);
  return status;
}

// Between two blocked layouts the library may go element by element, which takes as long as many
// runs; to and from row-major it does not.
bool is_by_element(const Api& api, const_dnnl_primitive_desc_t desc) {
  return implementation(api, desc) == "simple:any" || is_reference(api, desc);
}

bool reorder_by_row_major(const Api& api, dnnl_engine_t engine, const void* from_bytes,
                          const_dnnl_memory_desc_t from, void* to_bytes,
                          const_dnnl_memory_desc_t to, const_dnnl_memory_desc_t plain,
                          TextBuffer* error) {
  const std::uint64_t bytes = (size_bytes(api, plain) + 63) / 64 * 64;
  void* between = std::aligned_alloc(64, bytes);
  if (between == nullptr) return false;
  const bool done = run_reorder(api, engine, from_bytes, from, between, plain, error) &&
                    run_reorder(api, engine, between, plain, to_bytes, to, error);
  std::free(between);
  return done;
}

}  // namespace

bool run_reorder(const Api& api, dnnl_engine_t engine, const void* from_bytes,
                 const_dnnl_memory_desc_t from, void* to_bytes, const_dnnl_memory_desc_t to,
                 TextBuffer* error) {
  dnnl_primitive_desc_t desc = nullptr;
  dnnl_status_t status =
      api.reorder_primitive_desc_create(&desc, from, engine, to, engine, nullptr);
  Dims dims;
  if (status == dnnl_success && is_by_element(api, desc) && dims_of(api, from, &dims)) {
    const dnnl_memory_desc_t plain = make_plain(api, dims, data_type_of(api, from));
    const bool is_between = plain != nullptr && api.memory_desc_equal(plain, from) == 0 &&
                            api.memory_desc_equal(plain, to) == 0;
    const bool done = is_between && reorder_by_row_major(api, engine, from_bytes, from, to_bytes,
                                                         to, plain, error);
    if (plain != nullptr) api.memory_desc_destroy(plain);
    if (is_between) {
      api.primitive_desc_destroy(desc);
      return done;
    }
  }
  if (status == dnnl_success) {
    status = execute_reorder(api, engine, desc, from_bytes, from, to_bytes, to);
  }
  if (desc != nullptr) api.primitive_desc_destroy(desc);
  if (status != dnnl_success) error->add("a reorder failed: %s", status_text(status));
  return status == dnnl_success;
}

}  // namespace tessera::backends::onednn
