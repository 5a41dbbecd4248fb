// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/gomp.h"
#include "tessera/call.h"

namespace tessera::runtime {
namespace {

struct Counts {
  std::vector<std::atomic<int>> touched;
  std::atomic<int> workers{0};
  const tessera_call* call = nullptr;
};

tessera_call call_with(int threads) {
  tessera_call call = {};
  call.struct_bytes = sizeof call;
  call.threads = threads;
  return call;
}

std::int32_t touch(void* closure, std::int64_t begin, std::int64_t end, std::int32_t worker) {
  auto& counts = *static_cast<Counts*>(closure);
  counts.workers.fetch_or(1 << worker);
  for (std::int64_t i = begin; i < end; ++i) counts.touched[i].fetch_add(1);
  return 0;
}

TEST(ParallelFor, VisitsEachIterationOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const int n : {0, 1, 2, 3, 6, 7, 8, 100}) {
      Counts counts{std::vector<std::atomic<int>>(n)};
      const tessera_call call = call_with(threads);
      EXPECT_EQ(tessera_parallel_for(&call, n, touch, &counts), 0);
      for (auto& t : counts.touched) EXPECT_EQ(t.load(), 1);
    }
  }
}

TEST(ParallelFor, UsesAsManyWorkersAsAllowed) {
  Counts counts{std::vector<std::atomic<int>>(64)};
  const tessera_call call = call_with(4);
  tessera_parallel_for(&call, 64, touch, &counts);
  EXPECT_EQ(counts.workers.load(), 0b1111);
}

TEST(ParallelFor, ReturnsTheStatusOfAPartThatFailed) {
  const auto fail_at_5 = [](void*, std::int64_t begin, std::int64_t end, std::int32_t) {
    return begin <= 5 && 5 < end ? 42 : 0;
  };
  for (const int threads : {1, 4}) {
    const tessera_call call = call_with(threads);
    EXPECT_EQ(tessera_parallel_for(&call, 8, fail_at_5, nullptr), 42);
    EXPECT_EQ(tessera_parallel_for(&call, 4, fail_at_5, nullptr), 0);
  }
}

TEST(ParallelFor, InsideOfAPartStaysInItsThread) {
  struct Inner {
    const tessera_call* call;
    std::atomic<int> wrong{0}, total{0};
  };
  const auto outer = [](void* closure, std::int64_t begin, std::int64_t end, std::int32_t worker) {
    auto& inner = *static_cast<Inner*>(closure);
    struct Part {
      Inner* inner;
      std::int32_t worker;
    } part{&inner, worker};
    const auto body = [](void* data, std::int64_t b, std::int64_t e, std::int32_t w) {
      auto& p = *static_cast<Part*>(data);
      if (w != p.worker) p.inner->wrong.fetch_add(1);
      p.inner->total.fetch_add(static_cast<int>(e - b));
      return 0;
    };
    for (std::int64_t i = begin; i < end; ++i) tessera_parallel_for(inner.call, 10, body, &part);
    return 0;
  };
  const tessera_call call = call_with(4);
  Inner inner{&call};
  tessera_parallel_for(&call, 8, outer, &inner);
  EXPECT_EQ(inner.wrong.load(), 0);
  EXPECT_EQ(inner.total.load(), 80);
}

TEST(ThreadCount, IsRestored) {
  const Gomp* gomp = open_gomp();
  ASSERT_NE(gomp, nullptr);
  const int before = gomp->max_threads();
  {
    const ThreadCount count(before + 3);
    EXPECT_EQ(gomp->max_threads(), before + 3);
    const ThreadCount left(0);
    EXPECT_EQ(gomp->max_threads(), before + 3);
  }
  EXPECT_EQ(gomp->max_threads(), before);
}

}  // namespace
}  // namespace tessera::runtime
