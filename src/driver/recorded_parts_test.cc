// SPDX-License-Identifier: Apache-2.0
#include "driver/recorded_parts.h"

#include <gtest/gtest.h>

#include "backends/table.h"
#include "driver/testing/model_test.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using byoc::MadeKey;
using byoc::MadePart;
using testing::value_of;

class RecordedPartsTest : public testing::ModelTest {
 protected:
  RecordedPartsTest() {
    options_.targets = {value_of(parse_target("cuda -arch=sm_90a"))};
    options_.records = folder_.file("r.db");
  }
  std::unique_ptr<RecordedParts> open() const {
    const byoc::BackendChoice choices[] = {
        {backends::find_backend("cudnn"), Target("cudnn").with("runtime_engines", true)}};
    return value_of(RecordedParts::open(options_, choices));
  }
  void keep(const MadeKey& key, const MadePart& part) const {
    const auto store = value_of(tune::RecordStore::open(options_.records));
    value_of(store.made().keep(key, part));
  }
  CompileOptions options_;
};

// As cuDNN's plans are, with -model in the target and without: the device of one begins with that
// of the other.
TEST_F(RecordedPartsTest, AllAreOfJustThisDevice) {
  keep({"cudnn", "1", "sm_90a 132 ", "plan"}, {"of any"});
  keep({"cudnn", "1", "sm_90a 132 NVIDIA H200", "plan"}, {"of one"});
  keep({"cudnn", "2", "sm_90a 132 ", "plan"}, {"of another version"});
  keep({"tensorrt", "1", "sm_90a 132 ", "plan"}, {"of another back end"});
  const auto all_of = [&](const char* device) {
    return value_of(open()->all("cudnn", "1", device));
  };
  using List = std::vector<byoc::MadeParts::Named>;
  EXPECT_EQ(all_of("sm_90a 132 "), (List{{"plan", {"of any"}}}));
  EXPECT_EQ(all_of("sm_90a 132 NVIDIA H200"), (List{{"plan", {"of one"}}}));
  EXPECT_EQ(all_of("sm_90a "), List());
}

TEST_F(RecordedPartsTest, WhatIsDeniedGivesWay) {
  const MadeKey key{"cudnn", "1", "sm_90a 132 ", "plan"};
  keep(key, {"unreadable"});
  options_.targets = {Target()};  // a machine that is here
  options_.tuning.measures = true;
  const auto parts = open();
  EXPECT_EQ(value_of(parts->keep(key, {"made"}, nullptr)).bytes, "unreadable");
  EXPECT_EQ(value_of(parts->keep(key, {"made"}, [](const MadePart&) { return false; })).bytes,
            "made");
}

}  // namespace
}  // namespace tessera::driver
