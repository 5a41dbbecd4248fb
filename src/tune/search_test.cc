// SPDX-License-Identifier: Apache-2.0
// The tuner with searches: what is found in a child is recorded, and what ends it costs itself
// alone.
#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <stdexcept>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tune/tuner.h"
#include "tune/tuner_fixture.h"

namespace tessera::tune {
namespace {

using SearchTest = TunerFixture;

// A search whose ways are functions that give their time, or misbehave in their process.
byoc::TuningTask search_task(std::vector<std::function<double()>> ways) {
  byoc::TuningTask t{"test", "1", "sm_90a 132 ", {"s"}, "a search"};
  t.search = [ways = std::move(ways)](const byoc::Search& search, byoc::SearchReport& report) {
    for (std::size_t i = 0; i < std::min(ways.size(), search.most_ways); ++i) {
      report.found(i, fmt::format("way{}", i));
      if (search.skipped.contains(i)) continue;
      report.begins(i);
      const double time = ways[i]();
      time < 0 ? report.wrong(i, "it is off") : report.timed(i, time, 0.5);
      if (search.first_valid && time >= 0) break;
    }
    report.done();
  };
  return t;
}
double abort_here() {
  ::signal(SIGABRT, SIG_DFL);
  ::raise(SIGABRT);
  return 0;
}

TEST_F(SearchTest, AKernelLessIsFourWaysLess) {
  TunerOptions options;
  options.kernels = 1;
  const auto t = search_task(std::vector<std::function<double()>>(9, [] { return 5.0; }));
  EXPECT_EQ(tune(t, options).measured, 4u);
}

TEST_F(SearchTest, WhatASearchFindsIsRecordedUnderItsText) {
  const auto t = search_task({[] { return 5.0; }, abort_here, [] { return -1.0; },
                              [] { return 3.0; }, [] { return ::raise(SIGUSR1), 0.0; }});
  const TuneRow row = tune(t);
  ASSERT_TRUE(row.best);
  EXPECT_EQ(row.best->configuration, "way3");
  EXPECT_EQ(row.best->time_us, 3);
  EXPECT_EQ(row.best->spread_us, 0.5);
  EXPECT_EQ(row.best->key.toolchain, "");
  EXPECT_EQ(row.first, "way0");
  ASSERT_TRUE(row.first_record);
  EXPECT_EQ(row.first_record->time_us, 5);
  EXPECT_EQ(row.measured, 2u);
  EXPECT_EQ(row.failed, 3u);
  EXPECT_EQ(row.problem, "");
  std::map<std::string, std::string> failures;
  for (const Record& r : records()) failures[r.configuration] = r.failure;
  EXPECT_EQ(failures["way1"], "it ends with signal 6 (Aborted)");
  EXPECT_EQ(failures["way2"], "it is off");
  EXPECT_EQ(failures["way4"], "it ends with signal 10 (User defined signal 1)");
  // What has records is not searched for again.
  const TuneRow again = tune(search_task({[]() -> double { throw std::runtime_error("again"); }}));
  EXPECT_EQ(again.known, 5u);
  EXPECT_EQ(again.measured + again.failed, 0u);
  EXPECT_EQ(again.best->configuration, "way3");
  EXPECT_EQ(again.problem, "");
}

TEST_F(SearchTest, ASearchThatHangsGoesOnWithoutWhatHung) {
  TunerOptions options;
  options.silence_s = 0.3;
  const TuneRow row = tune(search_task({[]() -> double {
                                          for (;;) ::pause();
                                        },
                                        [] { return 4.0; }}),
                           options);
  EXPECT_EQ(row.best->configuration, "way1");
  EXPECT_EQ(row.first_record->failure, "it hangs");
}

TEST_F(SearchTest, AFaultOfTheSearchIsNoWays) {
  const TuneRow row =
      tune(search_task({[]() -> double { throw std::runtime_error("out of memory"); }}));
  EXPECT_EQ(row.problem, "the search: out of memory");
  EXPECT_FALSE(row.best);
  byoc::TuningTask quiet = search_task({});
  quiet.search = [](const byoc::Search&, byoc::SearchReport&) {};
  EXPECT_EQ(tune(quiet).problem, "the search: it ended before it was done");
  EXPECT_EQ(tune(search_task({[] { return ::raise(SIGKILL), 0.0; }})).problem,
            "the search: signal 9 (Killed)");
  EXPECT_TRUE(records().empty());
}

TEST_F(SearchTest, ASearchThatContradictsItselfIsSaidToDoSo) {
  byoc::TuningTask t = search_task({});
  t.search = [](const byoc::Search& search, byoc::SearchReport& report) {
    report.found(0, fmt::format("after {}", search.skipped.size()));
    report.begins(0);
    abort_here();
  };
  EXPECT_EQ(tune(t).problem,
            "the search: candidate 0 is `after 0` in one start and `after 1` in another");
  // Nor is a time taken of what was not found, or a way begun for ever.
  t.workload = {"deaf"};
  t.search = [](const byoc::Search&, byoc::SearchReport& report) {
    report.found(0, "way0");
    report.begins(0);
    report.timed(1, 2, 1);
    abort_here();
  };
  const TuneRow row = tune(t);
  EXPECT_EQ(row.problem, "candidate 0 was to be skipped, and began");
  EXPECT_EQ(row.failed, 1u);
  EXPECT_EQ(row.measured, 0u);
}

TEST_F(SearchTest, ASearchForTheFirstValidOneIsToldSo) {
  auto t = search_task({[] { return -1.0; }, [] { return 5.0; }, [] { return 3.0; }});
  t.first_valid = true;
  const TuneRow row = tune(t);
  EXPECT_EQ(row.best->configuration, "way1");
  EXPECT_EQ(row.problem, "");
  EXPECT_EQ(records().size(), 2u);
}

}  // namespace
}  // namespace tessera::tune
