// SPDX-License-Identifier: Apache-2.0
// Library state: the opened oneDNN, its engine, and constants that had to be brought into another
// layout than the file has, shared by all instances.
#pragma once

#include "backends/onednn/runtime/plan.h"

namespace tessera::backends::onednn {

class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  [[nodiscard]] bool open(Lookup lookup, void* context, TextBuffer* error);

  const Api& api() const { return api_; }
  dnnl_engine_t engine() const { return engine_; }

  // `bytes` brought from one layout into another: once, whoever asks. Null: `error` says why.
  const void* reordered(const void* bytes, const_dnnl_memory_desc_t from,
                        const_dnnl_memory_desc_t to, TextBuffer* error);

 private:
  struct Reordered {
    const void* source;
    dnnl_memory_desc_t layout;
    void* bytes;
  };
  const void* reorder(const void* bytes, const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to,
                      TextBuffer* error);

  Api api_ = {};
  dnnl_engine_t engine_ = nullptr;
  Array<Reordered> reordered_;  // guarded by ForkLock
};

// Runs one reorder on the calling thread's stream; for constants, at compile time and at create.
[[nodiscard]] bool run_reorder(const Api& api, dnnl_engine_t engine, const void* from_bytes,
                               const_dnnl_memory_desc_t from, void* to_bytes,
                               const_dnnl_memory_desc_t to, TextBuffer* error);

}  // namespace tessera::backends::onednn
