// SPDX-License-Identifier: Apache-2.0
// Contests on a device whose memory is the host's and whose clock is what ways say that they take.
#include "contest/contest.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "constants/tensor.h"
#include "contest/checked_result.h"

namespace tessera::contest {
namespace {

struct FakeGpu {
  std::uint64_t ns = 0;
  bool is_recording = false, is_spoilt = false;
  std::vector<std::function<void()>> recorded;
  void put(std::function<void()> work) { is_recording ? recorded.push_back(work) : work(); }
};
FakeGpu gpu;

std::int32_t state(tessera_device_error* error) {
  if (gpu.is_spoilt) std::strcpy(error->text, "an illegal memory access was encountered");
  return gpu.is_spoilt ? TESSERA_KERNEL_FAILED : TESSERA_OK;
}

const tessera_device_api kApi = {
    .open = [](std::int32_t, const char* arch, tessera_device_error* error) -> std::int32_t {
      if (std::strcmp(arch, "sm_90a") == 0) return TESSERA_OK;
      std::strcpy(error->text, "another architecture");
      return TESSERA_WRONG_MACHINE;
    },
    .enter = [](std::int32_t, std::int32_t*, tessera_device_error*) -> std::int32_t { return 0; },
    .leave = [](std::int32_t) {},
    .allocate = [](std::uint64_t bytes, void** memory, tessera_device_error*) -> std::int32_t {
      *memory = std::malloc(bytes);
      return TESSERA_OK;
    },
    .release = [](void* memory) { std::free(memory); },
    .allocate_host = nullptr,
    .release_host = nullptr,
    .place_of = nullptr,
    .create_stream = [](void** stream, tessera_device_error*) -> std::int32_t {
      *stream = &gpu;
      return TESSERA_OK;
    },
    .destroy_stream = [](void*) {},
    .copy = [](void* to, const void* from, std::uint64_t bytes, void*,
               tessera_device_error* error) -> std::int32_t {
      std::memcpy(to, from, bytes);
      return state(error);
    },
    .synchronize = [](void*, tessera_device_error* error) -> std::int32_t { return state(error); },
    .create_event = [](void** event, tessera_device_error*) -> std::int32_t {
      *event = new std::uint64_t(0);
      return TESSERA_OK;
    },
    .destroy_event = [](void* event) { delete static_cast<std::uint64_t*>(event); },
    .record_event = [](void* event, void*, tessera_device_error*) -> std::int32_t {
      *static_cast<std::uint64_t*>(event) = gpu.ns;
      return TESSERA_OK;
    },
    .wait_event = nullptr,
    .synchronize_event = nullptr,
    .elapsed_ns = [](void* begin, void* end, std::uint64_t* ns,
                     tessera_device_error*) -> std::int32_t {
      *ns = *static_cast<std::uint64_t*>(end) - *static_cast<std::uint64_t*>(begin);
      return TESSERA_OK;
    },
    .is_capturing = nullptr,
    .begin_capture = [](void*, tessera_device_error*) -> std::int32_t {
      gpu.is_recording = true;
      gpu.recorded.clear();
      return TESSERA_OK;
    },
    .end_capture = [](void*, void** graph, tessera_device_error*) -> std::int32_t {
      gpu.is_recording = false;
      *graph = new std::vector(gpu.recorded);
      return TESSERA_OK;
    },
    .launch_graph = [](void* graph, void*, tessera_device_error* error) -> std::int32_t {
      for (const auto& work : *static_cast<std::vector<std::function<void()>>*>(graph)) work();
      return state(error);
    },
    .destroy_graph =
        [](void* graph) { delete static_cast<std::vector<std::function<void()>>*>(graph); },
    .create_products = nullptr,
    .destroy_products = nullptr,
    .multiply = nullptr,
};

// Gives 1, 2, 3, ... in rows of 40 columns; what is wrong with a way stands in its name.
class Counting final : public Work {
 public:
  Counting(Device& device, std::vector<std::string> ways)
      : ways_(std::move(ways)), result_(device, 100, 40, kFloat32, 1e-5) {
    std::vector<double> wanted;
    for (const std::int64_t row : result_.rows()) {
      for (const std::int64_t column : result_.columns()) {
        wanted.push_back(static_cast<double>(row * 40 + column + 1));
      }
    }
    result_.want(std::move(wanted));
  }

  const std::vector<std::string>& ways() const override { return ways_; }
  std::int64_t turns() const override { return 5; }
  std::string launch(std::size_t way, std::int64_t turn) override {
    turns_seen.insert(turn);
    const std::string& name = ways_[way];
    if (name == "refuses") return "not supported";
    gpu.put([this, name] { compute(name); });
    return "";
  }
  void spoil() override { result_.spoil(); }
  std::string mistake(std::string* fault) override { return result_.mistake(fault); }

  std::set<std::int64_t> turns_seen;
  std::map<std::string, int> launched;

 private:
  void compute(const std::string& name) {
    ++launched[name];
    // A way's name is its time in microseconds; those of bad ways are none, "nan" among them.
    gpu.ns += static_cast<std::uint64_t>(1000 * std::strtoul(name.c_str(), nullptr, 10));
    gpu.is_spoilt = name == "crashes";
    auto* values = static_cast<float*>(result_.data());
    for (int i = 0; i < 4000; ++i) values[i] = static_cast<float>(i + 1);
    if (name == "wrong") values[3999] = 5;
    if (name == "wrong later" && launched[name] > 3) values[0] = 500;
    if (name == "nan") values[0] = std::nanf("");
  }

  std::vector<std::string> ways_;
  CheckedResult result_;
};

struct Told final : byoc::SearchReport {
  void found(std::size_t way, std::string_view configuration) override {
    names[way] = configuration;
  }
  void begins(std::size_t way) override { begun.push_back(way); }
  void wrong(std::size_t way, std::string_view why) override { faults[names[way]] = why; }
  void timed(std::size_t way, double median_us, double) override { us[names[way]] = median_us; }
  void done() override { is_done = true; }

  std::map<std::size_t, std::string> names;
  std::map<std::string, std::string> faults;
  std::map<std::string, double> us;
  std::vector<std::size_t> begun;
  bool is_done = false;
};

class ContestTest : public ::testing::Test {
 protected:
  ContestTest() { gpu = {}; }
  Device device_{kApi, "sm_90a"};
  Told told_;
};

TEST_F(ContestTest, TimesWhatIsRightAndSaysWhatIsNot) {
  Counting work(device_, {"20 us", "wrong", "10 us", "refuses", "nan", "wrong later", "100 us"});
  run_contest(device_, work, {.seconds = 60, .first_valid = false, .skipped = {}}, told_);
  EXPECT_TRUE(told_.is_done);
  EXPECT_EQ(told_.us.size(), 3u);
  EXPECT_DOUBLE_EQ(told_.us["20 us"], 20);
  EXPECT_DOUBLE_EQ(told_.us["10 us"], 10);
  EXPECT_DOUBLE_EQ(told_.us["100 us"], 100);
  EXPECT_EQ(told_.faults["refuses"], "not supported");
  for (const char* way : {"wrong", "nan", "wrong later"}) {
    EXPECT_TRUE(told_.faults[way].starts_with("it computes wrong numbers: off by"))
        << way << ": " << told_.faults[way];
  }
  EXPECT_EQ(work.turns_seen, (std::set<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_GT(work.launched["10 us"], 20 * work.launched["100 us"]) << "which has one short look";
}

TEST_F(ContestTest, SkipsAndStopsAtTheFirstRightOne) {
  Counting work(device_, {"20 us", "wrong", "10 us", "5 us"});
  run_contest(device_, work, {.seconds = 60, .first_valid = true, .skipped = {0}}, told_);
  EXPECT_EQ(told_.names.size(), 4u) << "numbers are the same in each start";
  EXPECT_EQ(told_.us, (std::map<std::string, double>{{"10 us", 10}}));
  EXPECT_EQ(told_.faults.size(), 1u);
}

// A fault of a kernel stays with the process, so that this ends; the next start skips the way.
TEST_F(ContestTest, AWayThatSpoilsTheDeviceEndsTheProcess) {
  struct Printed final : byoc::SearchReport {
    void found(std::size_t, std::string_view) override {}
    void begins(std::size_t) override {}
    void wrong(std::size_t way, std::string_view why) override {
      std::fprintf(stderr, "way %zu: %s\n", way, std::string(why).c_str());
    }
    void timed(std::size_t, double, double) override {}
    void done() override {}
  };
  const auto contest = [&] {
    Counting work(device_, {"20 us", "crashes", "10 us"});
    Printed report;
    run_contest(device_, work, {.seconds = 60, .first_valid = false, .skipped = {0}}, report);
  };
  EXPECT_EXIT(contest(), ::testing::ExitedWithCode(4), "way 1: an illegal memory access");
}

TEST_F(ContestTest, WhatIsNoWaysFaultIsThrown) {
  EXPECT_THROW(Device(kApi, "sm_80"), std::runtime_error);
}

TEST(ColdCopies, AreOverTwiceTheCache) {
  EXPECT_EQ(cold_copies(std::uint64_t{1} << 30), 2);
  EXPECT_EQ(cold_copies(8 << 20), 18);
  EXPECT_EQ(cold_copies(1), 256);
}

TEST(RandomNumbers, AreAFunctionOfTheSeed) {
  const auto bytes = random_numbers(1000, kFloat16, 0.5, 1);
  EXPECT_EQ(bytes.size(), 2000u);
  EXPECT_EQ(bytes, random_numbers(1000, kFloat16, 0.5, 1));
  EXPECT_NE(bytes, random_numbers(1000, kFloat16, 0.5, 2));
  const Tensor numbers({1000}, kFloat16, Blob::copy_of(bytes));
  double squares = 0;
  for (int i = 0; i < 1000; ++i) squares += std::pow(element_as_double(numbers, i), 2);
  EXPECT_NEAR(std::sqrt(squares / 1000), 0.5, 0.05);
}

}  // namespace
}  // namespace tessera::contest
