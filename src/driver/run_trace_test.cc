// SPDX-License-Identifier: Apache-2.0
// Traces of runs whose times are known; tests/e2e/profile_test.py has those of libraries.
#include "driver/run_trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera::driver {
namespace {

exec::KernelTime kernel(const std::string& name, const std::string& backend, std::uint64_t start_ns,
                        std::uint64_t ns) {
  return {name, backend, 1, ns, ns, start_ns, ns};
}

// `track name begin..end` of each span, in microseconds.
std::vector<std::string> spans_of(const nlohmann::ordered_json& trace) {
  std::vector<std::string> spans;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts"), end = begin + event.at("dur").get<double>();
    spans.push_back(fmt::format("{} {} {:g}..{:g}", event.at("tid").get<int>(),
                                event.at("name").get<std::string>(), begin, end));
  }
  return spans;
}

using Spans = std::vector<std::string>;

TEST(RunTrace, KernelsOfACpuLieInTheirRunBelowTheirBackEnds) {
  // The order of the tables is not that of the calls.
  const TracedRun run = {10'000,
                         20'000,
                         {kernel("c", "native", 6'000, 2'000), kernel("a", "onednn", 0, 3'000),
                          kernel("b", "onednn", 3'000, 3'000)}};
  EXPECT_EQ(spans_of(trace_json({run}, false)),
            (Spans{"1 run 1 10..20", "1 call 10..12", "1 onednn 12..18", "1 a 12..15", "1 b 15..18",
                   "1 native 18..20", "1 c 18..20"}));
}

TEST(RunTrace, KernelsOfADeviceHaveATrackOfTheirStream) {
  const std::vector<TracedRun> runs = {
      {0, 9'000, {kernel("a", "cutlass", 0, 4'000), kernel("b", "native", 4'000, 1'000)}},
      {9'000, 15'000, {kernel("a", "cutlass", 0, 5'000)}}};
  const nlohmann::ordered_json trace = trace_json(runs, true);
  EXPECT_EQ(spans_of(trace),
            (Spans{"1 run 1 0..9", "2 cutlass 4..8", "2 a 4..8", "2 native 8..9", "2 b 8..9",
                   "1 run 2 9..15", "2 cutlass 10..15", "2 a 10..15"}));
  EXPECT_EQ(trace["traceEvents"][2]["args"]["name"], "GPU stream");
}

// The device's clock is another one.
TEST(RunTrace, ADeviceThatSaysMoreThanTheRunTookDoesNotBeginBeforeIt) {
  const TracedRun run = {5'000, 6'000, {kernel("a", "native", 0, 3'000)}};
  EXPECT_EQ(spans_of(trace_json({run}, true)),
            (Spans{"1 run 1 5..6", "2 native 5..8", "2 a 5..8"}));
}

TEST(RunTrace, WhatWasNotCalledIsNotThereAndLoopsHaveTheirCalls) {
  exec::KernelTime loop = kernel("loop", "native", 7'000, 1'000),
                   other = kernel("no", "blas", 0, 0);
  loop.calls = 8, loop.total_ns = 8'000, loop.note = "of \"many\"";
  other.calls = 0;
  const nlohmann::ordered_json trace =
      trace_json({{0, 8'000, {other, loop}}, {8'000, 8'500, {}}}, false);
  EXPECT_EQ(spans_of(trace), (Spans{"1 run 1 0..8", "1 call 0..7", "1 native 7..8", "1 loop 7..8",
                                    "1 run 2 8..8.5"}));
  const auto& args = trace["traceEvents"][5]["args"];
  EXPECT_EQ(args.dump(), R"({"calls":8,"total_us":8.0,"note":"of \"many\""})");
}

}  // namespace
}  // namespace tessera::driver
