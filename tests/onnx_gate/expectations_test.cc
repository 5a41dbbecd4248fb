// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx_gate/expectations.h"

#include <gtest/gtest.h>

namespace tessera::onnx_gate {
namespace {

const Failure kRefusal{"E0302", "operator `X` is not supported"};

Expectations lists() {
  Expectations e;
  e.pass = {"relu"};
  e.fail = {{"refused", kRefusal}, {"late", {"E0504", "compiler: cannot do this yet"}}};
  return e;
}

TEST(Expectations, WhatIsAsListedIsNoSurprise) {
  EXPECT_FALSE(lists().surprise("relu", std::nullopt, false));
  EXPECT_FALSE(lists().surprise("refused", kRefusal, false));
  EXPECT_FALSE(lists().surprise("late", std::nullopt, true));
}

TEST(Expectations, ACrashIsNotTheRefusalThatIsExpected) {
  for (const Failure& worse : {Failure{"crash", "Segmentation fault"}, Failure{"hang", "60 s"},
                               Failure{"internal error", "check failed"},
                               Failure{"wrong", "result `y` has 2 instead of 1"},
                               Failure{"E0504", "cannot do this yet"}}) {
    const auto surprise = lists().surprise("refused", worse, false);
    ASSERT_TRUE(surprise) << worse.text();
    EXPECT_NE(surprise->find(worse.text()), std::string::npos) << *surprise;
    EXPECT_NE(surprise->find("`E0302`"), std::string::npos) << *surprise;
  }
}

TEST(Expectations, WhatPassesOrFailsUnexpectedlyIsSaid) {
  EXPECT_EQ(lists().surprise("refused", std::nullopt, false), "passes, but is expected to fail");
  EXPECT_EQ(lists().surprise("relu", kRefusal, false), "fails: " + kRefusal.text());
  EXPECT_EQ(lists().surprise("late", kRefusal, true), "fails: " + kRefusal.text());
  EXPECT_EQ(lists().surprise("new", std::nullopt, false), "is in no list");
  EXPECT_EQ(lists().surprise("new", kRefusal, false), "fails: " + kRefusal.text());
}

TEST(Expectations, WhatIsListedAndNotThereIsSaid) {
  EXPECT_EQ(lists().not_among({"relu", "refused", "new"}), std::vector<std::string>{"late"});
  EXPECT_TRUE(lists().not_among({"relu", "refused", "late"}).empty());
}

TEST(Expectations, AFailureIsItsText) {
  EXPECT_EQ(Failure::parse(kRefusal.text()).kind, "E0302");
  EXPECT_EQ(Failure::parse("internal error: a: b").reason, "a: b");
  EXPECT_EQ(Failure::parse("no kind").kind, "");
}

}  // namespace
}  // namespace tessera::onnx_gate
