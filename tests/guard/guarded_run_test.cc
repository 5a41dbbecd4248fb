// SPDX-License-Identifier: Apache-2.0
// What a run between guard pages must notice, it does.
#include "tests/guard/guarded_run.h"

#include <csignal>

#include <gtest/gtest.h>

#include "tests/guard/hostile.h"

namespace tessera::guard {
namespace {

std::string bad(const std::string& name) {
  return std::string(TESSERA_BAD_MODELS) + "/libtessera_bad_" + name + ".so";
}
RunOptions at(Place place) {
  RunOptions options;
  options.rounds = 40;
  options.places = {place};
  return options;
}

class Killed : public ::testing::TestWithParam<std::pair<const char*, Place>> {};

TEST_P(Killed, WhoLeavesItsMemory) {
  const auto& [name, place] = GetParam();
  EXPECT_EXIT(run_guarded(bad(name), at(place)), ::testing::KilledBySignal(SIGSEGV), "");
}

INSTANTIATE_TEST_SUITE_P(Libraries, Killed,
                         ::testing::Values(std::pair("READS_BEHIND", Place::kEnd),
                                           std::pair("READS_BEFORE", Place::kBegin),
                                           std::pair("WRITES_BEHIND", Place::kEnd),
                                           std::pair("WRITES_BEFORE", Place::kBegin),
                                           std::pair("WRITES_INPUT", Place::kEnd),
                                           std::pair("WRITES_INPUT", Place::kBegin)),
                         [](const auto& info) {
                           return std::string(info.param.first) +
                                  (info.param.second == Place::kEnd ? "_end" : "_begin");
                         });

void expect_fault(const std::string& name, Place place, const std::string& what) {
  const Outcome outcome = run_guarded(bad(name), at(place));
  ASSERT_FALSE(outcome.faults.empty()) << name;
  EXPECT_EQ(outcome.faults[0].find(what), 0u) << outcome.faults[0];
}

TEST(GuardedRun, NoticesWhatDoesNotFault) {
  expect_fault("WRITES_BEHIND", Place::kBegin, "wrote beyond an output");
  expect_fault("WRITES_BEFORE", Place::kEnd, "wrote beyond an output");
  expect_fault("SWAPS", Place::kEnd, "replaced an output");
  expect_fault("CLAIMS", Place::kEnd, "says that it wrote more");
}

TEST(GuardedRun, HasNothingAgainstAGoodLibrary) {
  const Outcome outcome = run_guarded(bad("FINE"), RunOptions{});
  EXPECT_TRUE(outcome.faults.empty()) << outcome.faults[0];
  EXPECT_GT(outcome.right, 0);
  EXPECT_GT(outcome.refused, 0);
}

TEST(GuardedMemory, LiesAtAPage) {
  const GuardedMemory end(12, 4, Place::kEnd), begin(12, 4, Place::kBegin),
      heap(12, 4, Place::kHeap);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(end.data() + 12) % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin.data()) % 4096, 0u);
  for (const GuardedMemory* m : {&end, &begin, &heap}) {
    EXPECT_TRUE(m->surroundings_are_intact());
    m->bytes().front() = m->bytes().back() = std::byte{1};
    EXPECT_TRUE(m->surroundings_are_intact());
  }
  *(end.data() - 1) = std::byte{1};
  EXPECT_FALSE(end.surroundings_are_intact());
  EXPECT_THROW(GuardedMemory(std::uint64_t{1} << 40, 4, Place::kEnd), std::bad_alloc);
}

}  // namespace
}  // namespace tessera::guard
