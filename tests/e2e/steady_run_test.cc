// SPDX-License-Identifier: Apache-2.0
// Runs after the first allocate nothing: neither the library that was compiled nor what the runtime
// does for it. (oneDNN makes a list of arguments for each primitive; that is counted apart.)
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "command.h"
#include "exec/session.h"

// The address sanitizer has an allocator of its own.
#ifndef TESSERA_SANITIZED

namespace {

std::atomic<bool> counting = false;
std::atomic<int> call_count = 0;
constexpr int kMostCalls = 4096;
void* callers[kMostCalls];

void count_call(void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return;
  const int at = call_count++;
  if (at < kMostCalls) callers[at] = caller;
}

}  // namespace

// The program's definitions come before those of the C library, for all libraries in the process.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) noexcept {
  count_call(__builtin_return_address(0));
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  count_call(__builtin_return_address(0));
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) noexcept {
  count_call(__builtin_return_address(0));
  return __libc_realloc(old, size);
}
void* memalign(std::size_t align, std::size_t size) noexcept {
  count_call(__builtin_return_address(0));
  return __libc_memalign(align, size);
}
void* aligned_alloc(std::size_t align, std::size_t size) noexcept {
  count_call(__builtin_return_address(0));
  return __libc_memalign(align, size);
}
int posix_memalign(void** out, std::size_t align, std::size_t size) noexcept {
  count_call(__builtin_return_address(0));
  *out = __libc_memalign(align, size);
  return *out == nullptr ? ENOMEM : 0;
}
}

namespace tessera::e2e {
namespace {

struct SteadyCase {
  std::string name, backends;
};

class SteadyRuns : public ::testing::TestWithParam<SteadyCase> {};

struct Allocations {
  int of_the_model = 0, of_others = 0;
};

// Who called while `runs` runs were made.
Allocations allocations(exec::Session& session, int runs) {
  call_count = 0;
  counting = true;
  for (int i = 0; i < runs; ++i) {
    if (!session.run_bound()) ADD_FAILURE() << "the run failed";
  }
  counting = false;
  Allocations found;
  for (int i = 0; i < std::min(call_count.load(), kMostCalls); ++i) {
    Dl_info info = {};
    const bool known = dladdr(callers[i], &info) != 0 && info.dli_fname != nullptr;
    const bool model = known && std::string(info.dli_fname).ends_with("/steady.so");
    ++(model ? found.of_the_model : found.of_others);
  }
  return found;
}

TEST_P(SteadyRuns, AllocateNothing) {
  Command command;
  command.share_cache();
  command.write("m.relay", R"(#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 16, 16), float32], %w: Tensor[(12, 8, 3, 3), float32], %v: Tensor[(24, 32), float32], %g: Tensor[(1, 300), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=12, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = reshape(%1, newshape=[96, 32]);
  %3 = nn.dense(%2, %v, units=24);
  %4 = nn.softmax(%3);
  %5 = argsort(%g);
  %6 = exp(%4);
  %7 = sum(%6, axis=[1]);
  (%4, %5, %7)
})");
  const ProcessResult compiled =
      command.run({"compile", "m.relay", "-o", "steady.so", "--backends", GetParam().backends});
  ASSERT_TRUE(compiled.ok()) << compiled.err;
  ::setenv("TESSERA_LIBRARY_PATH", vendor_folder().c_str(), 1);
  for (const int threads : {1, 2}) {
    const auto session = exec::Session::open_library(command.file("steady.so"), {threads, false});
    ASSERT_TRUE(session) << render(session.error());
    std::vector<Tensor> inputs;
    for (const exec::PortInfo& port : (*session)->inputs()) {
      inputs.push_back(exec::random_input(port, inputs.size()));
    }
    ASSERT_TRUE((*session)->bind(inputs));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*session)->run_bound());
    // The loader makes thread-local memory for a worker when it first computes something, which may
    // be long after the first runs: others were faster. Few have yet to.
    Allocations found = allocations(**session, 10);
    for (int more = 0; more < 5 && found.of_the_model + found.of_others > 0; ++more) {
      found = allocations(**session, 50);
    }
    EXPECT_EQ(found.of_the_model, 0) << threads << " threads";
    EXPECT_TRUE(GetParam().backends == "onednn" || found.of_others == 0) << found.of_others;
    RecordProperty("of_others", found.of_others);
    std::printf("%d threads: %d allocations by others\n", threads, found.of_others);
  }
}

// The hook itself: what a library allocates is seen.
TEST(AllocationHook, SeesCallsOfLibraries) {
  call_count = 0;
  counting = true;
  void* memory = ::dlopen("libm.so.6", RTLD_LAZY);
  char* copy = ::strdup("some text");
  counting = false;
  EXPECT_GT(call_count, 0);
  std::free(copy);
  ::dlclose(memory);
}

INSTANTIATE_TEST_SUITE_P(Backends, SteadyRuns,
                         ::testing::Values(SteadyCase{"ccompiler", "ccompiler"},
                                           SteadyCase{"onednn", "onednn"},
                                           SteadyCase{"blas", "blas"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::e2e

#endif
