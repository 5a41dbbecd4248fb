// SPDX-License-Identifier: Apache-2.0
#include "runtime/gomp.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "runtime/find_function.h"

namespace tessera::runtime {
namespace {

constexpr const char* kFile = "libgomp.so.1";
// Turns of a loop with a pause each. bench/results/2026-11-24-neighbours.md compares some numbers.
char short_spin[] = "GOMP_SPINCOUNT=2000";

Gomp functions;
std::atomic<const Gomp*> opened{nullptr};

// libgomp reads its settings from the environment while it is loaded, and only then. Adds one for
// as long as it lives, in a table of its own: another thread that reads the environment meanwhile
// sees one table or the other, both of them whole. The table is not freed, as that thread may still
// read it.
class Setting {
 public:
  explicit Setting(char* text) : before_(environ) {
    std::size_t count = 0;
    while (before_ != nullptr && before_[count] != nullptr) ++count;
    with_ = static_cast<char**>(std::malloc((count + 2) * sizeof(char*)));
    if (with_ == nullptr) return;
    if (count > 0) std::memcpy(with_, before_, count * sizeof(char*));
    with_[count] = text;
    with_[count + 1] = nullptr;
    environ = with_;
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() {
    if (with_ != nullptr && environ == with_) environ = before_;
    kept = with_;
  }

 private:
  static inline char** kept = nullptr;  // reachable: no leak
  char **before_, **with_ = nullptr;
};

void* open_file() {
  constexpr int kFlags = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;
  if (void* of_the_program = dlopen(kFile, kFlags | RTLD_NOLOAD)) return of_the_program;
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) {
    return dlopen(kFile, kFlags);
  }
  const Setting setting(short_spin);
  return dlopen(kFile, kFlags);
}

void open_once() {
  void* library = open_file();
  if (library == nullptr) return;
  const bool complete = find_function(library, "omp_get_max_threads", functions.max_threads) &&
                        find_function(library, "omp_set_num_threads", functions.set_num_threads);
  if (complete) opened.store(&functions, std::memory_order_release);
}

}  // namespace

const Gomp* open_gomp() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_once);
  return opened_gomp();
}

const Gomp* opened_gomp() { return opened.load(std::memory_order_acquire); }

}  // namespace tessera::runtime
