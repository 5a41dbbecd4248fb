// SPDX-License-Identifier: Apache-2.0
#include "driver/session_timing.h"

#include <chrono>
#include <numeric>

#include <gtest/gtest.h>

#include "driver/compile.h"
#include "driver/testing/model_test.h"

namespace tessera::driver {
namespace {

using testing::value_of;
using Clock = std::chrono::steady_clock;

constexpr RunLimits kOneRun = {1, 1, 0};

class SessionTiming : public testing::ModelTest {
 protected:
  // One kernel, so that its calls are the runs.
  std::unique_ptr<exec::Session> session_of(const std::string& text,
                                            std::initializer_list<std::int64_t> rows) {
    CompileOptions o = options(text);
    o.output = new_library();
    value_of(compile(o));
    auto session = value_of(exec::Session::open_library(o.output, {.threads = 1, .profile = true}));
    std::vector<Tensor> inputs;
    for (const std::int64_t n : rows) {
      inputs.push_back(exec::random_input({"", kFloat32, {n, 8}}, inputs.size() + 1));
    }
    EXPECT_TRUE(session->bind(inputs));
    return session;
  }
  std::unique_ptr<exec::Session> good_session() {
    return session_of("def @main(%x: Tensor[(8, 8), float32]) { abs(%x) }", {8});
  }
  static std::size_t runs_of(const exec::Session& session) {
    const auto times = session.kernel_times();
    EXPECT_EQ(times.size(), 1u);
    return times.front().calls;
  }
};

double sum(const std::vector<double>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

TEST_F(SessionTiming, MakesAsManyRunsAsTheLimitsSay) {
  const auto session = good_session();
  const RunLimits usual;
  EXPECT_EQ(usual.most, 20);
  EXPECT_EQ(usual.seconds, 0.2);
  constexpr double kEver = 1e9;
  std::size_t before = 0;
  for (const auto& [limits, count] :
       {std::pair(RunLimits{5, 20, 0}, 5U), std::pair(RunLimits{3, 4, kEver}, 4U),
        std::pair(RunLimits{1, 1, kEver}, 1U), std::pair(RunLimits{7, 4, 0}, 4U),
        std::pair(usual, 20U)}) {
    EXPECT_EQ(value_of(time_runs({session.get()}, {limits})).size(), count);
    EXPECT_EQ(runs_of(*session), before + 1 + count) << "and the first one, which does not count";
    before += 1 + count;
  }
}

TEST_F(SessionTiming, MakesRunsUntilTheSecondsAreSpent) {
  const auto session = good_session();
  constexpr double kSeconds = 0.02;
  const auto seconds = value_of(time_runs({session.get()}, {{1, 100'000'000, kSeconds}}));
  EXPECT_GE(sum(seconds), kSeconds);
  EXPECT_LT(sum({seconds.begin(), seconds.end() - 1}), kSeconds);
}

TEST_F(SessionTiming, RunsThatWarmUpDoNotCount) {
  const auto session = good_session();
  constexpr double kSeconds = 0.02;
  const Clock::time_point begin = Clock::now();
  EXPECT_EQ(value_of(time_runs({session.get()}, {kOneRun, kSeconds})).size(), 1u);
  EXPECT_GE(std::chrono::duration<double>(Clock::now() - begin).count(), kSeconds);
  EXPECT_GT(runs_of(*session), 2u);
}

// A run of many computations takes what all of them take.
TEST_F(SessionTiming, ATimeIsOfOneComputation) {
  const auto session = good_session();
  constexpr int kRepeats = 1000, kRuns = 50;
  const Clock::time_point begin = Clock::now();
  const auto seconds = value_of(time_runs({session.get(), kRepeats}, {{kRuns, kRuns, 0}}));
  const std::chrono::duration<double> all = Clock::now() - begin;
  EXPECT_GT(sum(seconds), 0);
  EXPECT_LE(kRepeats * sum(seconds), all.count() * (1 + 1e-9));
}

// A time is of what is computed: of so little work that is uncertain, and a twentieth is left.
TEST_F(SessionTiming, WhatAnyRunTakesIsNoPartOfATime) {
  const auto session = good_session();
  constexpr RunLimits kRuns = {50, 50, 0};
  const Clock::time_point begin = Clock::now();
  const auto seconds = value_of(time_runs({session.get()}, {kRuns, 0, 0, 1e9}));
  const std::chrono::duration<double> all = Clock::now() - begin;
  EXPECT_GT(sum(seconds), 0);
  EXPECT_LE(sum(seconds), 0.05 * all.count() * (1 + 1e-9));
}

TEST_F(SessionTiming, AllTakeTurns) {
  const auto first = good_session(), second = good_session();
  const std::vector<TimedSession> sessions = {{first.get()}, {}, {second.get()}};
  std::string printed;
  constexpr int kTurns = 3, kRuns = 4;
  time_in_turns(sessions, kTurns, {{1, kRuns, 1e9}},
                [&](std::string_view line) { printed += line; });
  EXPECT_TRUE(printed.starts_with("begin 0\nbegin 2\nbegin 0\nbegin 2\nbegin 0\nbegin 2\ntime 0"))
      << printed;
  const tune::WorkerReport report = tune::parse_worker_report(printed);
  ASSERT_EQ(report.measured.size(), 2u);
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(report.measured.at(i).failure, "");
    EXPECT_GT(report.measured.at(i).time_us, 0);
    EXPECT_EQ(runs_of(*sessions[i].session), kTurns * (1U + kRuns));
  }
}

TEST_F(SessionTiming, TheFirstFailureEndsTheTurns) {
  const auto good = good_session();
  const auto bad = session_of(
      "def @main(%x: Tensor[(?n, 8), float32], %y: Tensor[(?n, 8), float32]) { add(%x, %y) }",
      {2, 3});
  std::string printed;
  time_in_turns(std::vector<TimedSession>{{good.get()}, {bad.get()}, {good.get()}}, 2, {kOneRun},
                [&](std::string_view line) { printed += line; });
  EXPECT_TRUE(printed.starts_with("begin 0\nbegin 1\nwrong 1 ")) << printed;
  EXPECT_EQ(tune::parse_worker_report(printed).measured.size(), 1u);
}

TEST(Quartiles, AreOfTheSortedTimes) {
  const Quartiles odd = quartiles({5, 1, 3, 2, 4});
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.spread, 2);
  const Quartiles one = quartiles({7});
  EXPECT_EQ(one.median, 7);
  EXPECT_EQ(one.spread, 0);
  // One run that was disturbed moves neither.
  EXPECT_EQ(quartiles({5, 1, 3, 2, 1000}).median, 3);
}

}  // namespace
}  // namespace tessera::driver
