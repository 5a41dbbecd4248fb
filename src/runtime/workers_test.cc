// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace tessera::runtime {
namespace {

std::size_t num_threads() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// Any CPU of this process: with it there are helpers on a machine of one CPU, too.
std::int32_t some_cpu() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::int32_t cpu = 0;
  while (CPU_ISSET(cpu, &set) == 0) ++cpu;
  return cpu;
}

class WorkersTest : public ::testing::Test {
 protected:
  Workers& made(std::int32_t threads) {
    cpus_.assign(static_cast<std::size_t>(threads), some_cpu());
    options_.thread_cpus = cpus_.data();
    options_.thread_cpu_count = threads;
    workers_ = std::make_unique<Workers>();
    EXPECT_EQ(workers_->set_up(threads, options_), TESSERA_OK);
    return *workers_;
  }

  tessera_instance_options options_ = TESSERA_INSTANCE_OPTIONS_INIT;
  std::vector<std::int32_t> cpus_;
  std::unique_ptr<Workers> workers_;
};

std::int32_t touch(void* closure, std::int64_t begin, std::int64_t end, std::int32_t) {
  auto& touched = *static_cast<std::vector<std::atomic<int>>*>(closure);
  for (std::int64_t i = begin; i < end; ++i) touched[static_cast<std::size_t>(i)].fetch_add(1);
  return 0;
}

TEST_F(WorkersTest, VisitEachIterationOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    Workers& workers = made(threads);
    for (const std::size_t n : {1, 2, 3, 6, 7, 8, 100, 5000}) {
      for (int again = 0; again < 50; ++again) {
        std::vector<std::atomic<int>> touched(n);
        EXPECT_EQ(workers.run(static_cast<std::int64_t>(n), touch, &touched), 0);
        for (auto& t : touched) ASSERT_EQ(t.load(), 1);
      }
    }
  }
}

// Sums that a piece makes have the same bits whoever takes it.
TEST_F(WorkersTest, PiecesDependOnTheNumberOfThreadsAlone) {
  using Pieces = std::set<std::pair<std::int64_t, std::int64_t>>;
  struct Seen {
    std::mutex mutex;
    Pieces pieces;
  };
  const auto note = [](void* closure, std::int64_t begin, std::int64_t end, std::int32_t) {
    auto& seen = *static_cast<Seen*>(closure);
    const std::lock_guard lock(seen.mutex);
    seen.pieces.emplace(begin, end);
    return 0;
  };
  Seen by_helpers, by_one;
  made(3).run(1001, note, &by_helpers);
  const tessera_thread_pool only_the_first = {
      nullptr,
      [](void*, std::int32_t, void (*task)(void*, std::int32_t), void* data) { task(data, 0); }};
  options_.thread_pool = &only_the_first;
  made(3).run(1001, note, &by_one);
  EXPECT_EQ(by_helpers.pieces, by_one.pieces);
  EXPECT_EQ(by_one.pieces.size(), 12u);
}

// The piece of one thread lasts until another one has begun a piece.
TEST_F(WorkersTest, WorkAtTheSameTime) {
  struct Meeting {
    std::atomic<int> present{0}, alone{0};
  } meeting;
  const auto meet = [](void* closure, std::int64_t, std::int64_t, std::int32_t) {
    auto& m = *static_cast<Meeting*>(closure);
    m.present.fetch_add(1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (m.present.load() < 2) {
      if (std::chrono::steady_clock::now() > end) return 1;
      std::this_thread::yield();
    }
    return 0;
  };
  EXPECT_EQ(made(2).run(2, meet, &meeting), 0);
}

TEST_F(WorkersTest, AreMadeWhenTheyAreNeededAndEndWithTheInstance) {
  const std::size_t before = num_threads();
  Workers& workers = made(3);
  std::vector<std::atomic<int>> touched(100);
  workers.run(1, touch, &touched);
  EXPECT_EQ(num_threads(), before);
  workers.run(100, touch, &touched);
  EXPECT_EQ(num_threads(), before + 2);
  workers_.reset();
  EXPECT_EQ(num_threads(), before);
}

TEST_F(WorkersTest, SleepWhereThereIsNoWork) {
  std::vector<std::atomic<int>> touched(100);
  made(3).run(100, touch, &touched);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  getrusage(RUSAGE_SELF, &after);
  const auto us = [](const rusage& r) {
    return r.ru_utime.tv_sec * 1'000'000 + r.ru_utime.tv_usec;
  };
  EXPECT_LT(us(after) - us(before), 50'000);
}

TEST_F(WorkersTest, ReturnTheStatusOfAPartThatFailed) {
  const auto fail_at_5 = [](void*, std::int64_t begin, std::int64_t end, std::int32_t) {
    return begin <= 5 && 5 < end ? 42 : 0;
  };
  for (const int threads : {1, 4}) {
    Workers& workers = made(threads);
    EXPECT_EQ(workers.run(8, fail_at_5, nullptr), 42);
    EXPECT_EQ(workers.run(4, fail_at_5, nullptr), 0);
  }
}

TEST_F(WorkersTest, StayInTheirThreadInsideOfAPart) {
  struct Inner {
    Workers* workers;
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
    for (std::int64_t i = begin; i < end; ++i) inner.workers->run(10, body, &part);
    return 0;
  };
  Inner inner{&made(4)};
  inner.workers->run(8, outer, &inner);
  EXPECT_EQ(inner.wrong.load(), 0);
  EXPECT_EQ(inner.total.load(), 80);
}

TEST_F(WorkersTest, HavePriorityAndCpusAsAsked) {
  options_.thread_nice = 3;
  struct Found {
    std::atomic<int> others{0}, wrong{0};
    std::int32_t cpu = some_cpu();
    int nice = getpriority(PRIO_PROCESS, 0);
  } found;
  const auto look = [](void* closure, std::int64_t, std::int64_t, std::int32_t worker) {
    auto& f = *static_cast<Found*>(closure);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (worker == 0 && f.others.load() == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    if (worker == 0) return 0;
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    const bool is_right = CPU_COUNT(&cpus) == 1 && CPU_ISSET(f.cpu, &cpus) != 0 &&
                          getpriority(PRIO_PROCESS, 0) == std::min(f.nice + 3, 19);
    f.wrong.fetch_add(is_right ? 0 : 1);
    f.others.fetch_add(1);
    return 0;
  };
  EXPECT_EQ(made(2).run(2, look, &found), 0);
  EXPECT_EQ(found.others.load(), 1);
  EXPECT_EQ(found.wrong.load(), 0);
}

TEST_F(WorkersTest, OfTheProgramAreUsedInPlaceOfTheirOwn) {
  struct Calls {
    int runs = 0, tasks = 0;
  } calls;
  const tessera_thread_pool pool = {
      &calls, [](void* context, std::int32_t count, void (*task)(void*, std::int32_t), void* data) {
        auto& c = *static_cast<Calls*>(context);
        ++c.runs;
        c.tasks += count;
        for (std::int32_t i = count; i-- > 0;) task(data, i);
      }};
  options_.thread_pool = &pool;
  const std::size_t before = num_threads();
  std::vector<std::atomic<int>> touched(100);
  EXPECT_EQ(made(3).run(100, touch, &touched), 0);
  for (auto& t : touched) EXPECT_EQ(t.load(), 1);
  EXPECT_EQ(std::pair(calls.runs, calls.tasks), std::pair(1, 3));
  EXPECT_EQ(num_threads(), before);
}

}  // namespace
}  // namespace tessera::runtime
