// SPDX-License-Identifier: Apache-2.0
#include "runtime/tbb.h"

#include <dlfcn.h>

#include "runtime/find_function.h"

namespace tessera::runtime {
namespace {

// tbb::detail::d1::delegate_base
class Delegate {
 public:
  Delegate(void (*work)(void*), void* data) : work_(work), data_(data) {}
  virtual bool operator()() const {
    work_(data_);
    return true;
  }
  virtual ~Delegate() = default;

 private:
  void (*work_)(void*);
  void* data_;
};

struct Tbb {
  void (*initialize)(void* arena);
  void (*terminate)(void* arena);
  void (*execute)(void* arena, const void* delegate);
};

std::atomic<bool> is_found{false};
Tbb functions;

// Has a library of this process loaded it? It stays loaded then.
bool is_loaded() {
  if (is_found.load(std::memory_order_acquire)) return true;
  void* library = dlopen(kTbbFile, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (library == nullptr) return false;
  Tbb found;
  const bool complete =
      find_function(library, "_ZN3tbb6detail2r110initializeERNS0_2d115task_arena_baseE",
                    found.initialize) &&
      find_function(library, "_ZN3tbb6detail2r19terminateERNS0_2d115task_arena_baseE",
                    found.terminate) &&
      find_function(library,
                    "_ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE",
                    found.execute);
  if (!complete) return false;
  functions = found;  // by several threads at once the same
  is_found.store(true, std::memory_order_release);
  return true;
}

}  // namespace

TbbArena::~TbbArena() {
  if (layout_.arena.load() != nullptr) functions.terminate(&layout_);
}

bool TbbArena::execute(std::int32_t threads, void (*work)(void* data), void* data) {
  if (threads <= 0) return false;
  if (!has_looked_) {  // once: the loader allocates, which runs must not
    has_looked_ = true;
    is_there_ = is_loaded();
  }
  if (!is_there_) return false;
  if (layout_.arena.load(std::memory_order_relaxed) == nullptr) {
    layout_.max_concurrency = threads;
    functions.initialize(&layout_);
  }
  const Delegate delegate(work, data);
  functions.execute(&layout_, &delegate);
  return true;
}

}  // namespace tessera::runtime
