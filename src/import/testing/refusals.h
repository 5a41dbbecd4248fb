// SPDX-License-Identifier: Apache-2.0
// What a refused model must say: a code, a place, the finding and a remedy.
#pragma once

#include <gtest/gtest.h>

#include "import/testing/model.h"

namespace tessera::import {

struct Refusal {
  Code code;
  std::string place;    // part of the location's text; "" for the file as a whole
  std::string finding;  // part of the message
};

inline void expect_diagnostic(const Diagnostic& d, const Refusal& r) {
  EXPECT_EQ(code_text(d.code), code_text(r.code)) << d.message;
  EXPECT_NE(d.message.find(r.finding), std::string::npos) << d.message;
  EXPECT_NE(to_string(d.location).find(r.place), std::string::npos) << to_string(d.location);
  EXPECT_EQ(to_string(d.location).empty(), r.place.empty()) << to_string(d.location);
}

inline void expect_refused(const Result<Module>& result, const std::vector<Refusal>& refusals) {
  ASSERT_FALSE(result);
  const auto& list = result.error().list;
  ASSERT_EQ(list.size(), refusals.size()) << render(result.error());
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    expect_diagnostic(list[i], refusals[i]);
    EXPECT_FALSE(list[i].remedy.empty()) << list[i].message;
  }
}

// y = Relu(x), of which tests spoil a part.
inline TestModel relu_model(int opset = 17) {
  TestModel m(opset);
  m.input("x", {2, 3});
  m.node("Relu", {"x"}, {"y"}, "act");
  m.output("y");
  return m;
}

}  // namespace tessera::import
