// SPDX-License-Identifier: Apache-2.0
// oneDNN's threads are those that the run time says, whichever library it has them from.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "backends/onednn/library_handle.h"
#include "runtime/gomp.h"
#include "runtime/vendor_threads.h"

namespace tessera::backends::onednn {
namespace {

// 0: the library has no threads of this kind.
int threads_of_tbb() {
  void* library = dlopen("libtbb.so.12", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  using MaxConcurrency = int (*)(const void* arena);
  const auto ask = reinterpret_cast<MaxConcurrency>(
      dlsym(library, "_ZN3tbb6detail2r115max_concurrencyEPKNS0_2d115task_arena_baseE"));
  const int threads = ask != nullptr ? ask(nullptr) : -1;
  dlclose(library);
  return threads;
}

int threads_of_openmp() {
  const runtime::Gomp* gomp = runtime::opened_gomp();
  return gomp != nullptr ? gomp->max_threads() : 0;
}

TEST(Threads, OfOneDnnAreThoseOfTheRun) {
  const Library* library = compiler_library();
  ASSERT_NE(library, nullptr) << compiler_library_error();
  const bool is_tbb = library->api().version()->cpu_runtime == DNNL_RUNTIME_TBB;
  const auto threads = is_tbb ? threads_of_tbb : threads_of_openmp;
  const int before = threads();
  for (const int count : {1, 3, 2}) {
    runtime::VendorThreads vendor(count);
    EXPECT_EQ(vendor.run(threads), count);
    EXPECT_EQ(vendor.run(threads), count);
  }
  runtime::VendorThreads as_they_like(0);
  EXPECT_EQ(as_they_like.run(threads), before);
  EXPECT_EQ(threads(), before);
}

TEST(Threads, AndTheirLibrariesAreAmongWhatAModelOpens) {
  const auto& files = compiler_library_files();
  ASSERT_FALSE(files.empty()) << compiler_library_error();
  EXPECT_EQ(files.back(), "libdnnl.so.3");
  for (const std::string& file : files) EXPECT_NE(compiler_library_path(file), "") << file;
  EXPECT_EQ(compiler_library_path("libc.so.6"), "");
  if (compiler_library()->api().version()->cpu_runtime == DNNL_RUNTIME_TBB) {
    EXPECT_NE(std::find(files.begin(), files.end(), "libtbb.so.12"), files.end());
  }
}

}  // namespace
}  // namespace tessera::backends::onednn
