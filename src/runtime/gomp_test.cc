// SPDX-License-Identifier: Apache-2.0
#include "runtime/gomp.h"

#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tessera::runtime {
namespace {

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** at = environ; *at != nullptr; ++at) all.emplace_back(*at);
  return all;
}

TEST(Gomp, IsOpenedWithoutATraceInTheEnvironment) {
  const auto before = environment();
  ASSERT_NE(open_gomp(), nullptr);
  EXPECT_EQ(environment(), before);
  EXPECT_EQ(opened_gomp(), open_gomp());
}

double cpu_ms() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// After a loop nobody takes a CPU for long. By default each thread would for about ten ms.
TEST(Gomp, ThreadsSleepAfterALoop) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) {
    GTEST_SKIP() << "the environment says how they wait";
  }
  ASSERT_NE(open_gomp(), nullptr);
  using Parallel = void (*)(void (*work)(void*), void* data, unsigned threads, unsigned flags);
  void* library = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
  const auto parallel = reinterpret_cast<Parallel>(dlsym(library, "GOMP_parallel"));
  ASSERT_NE(parallel, nullptr);
  double spent = 0;
  for (int turn = 0; turn < 20; ++turn) {
    parallel([](void*) {}, nullptr, 2, 0);
    const double before = cpu_ms();
    usleep(5000);
    spent += cpu_ms() - before;
  }
  EXPECT_LT(spent / 20, 2.0);
  dlclose(library);
}

}  // namespace
}  // namespace tessera::runtime
