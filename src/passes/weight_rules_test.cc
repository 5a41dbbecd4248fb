// SPDX-License-Identifier: Apache-2.0
#include "passes/weight_rules.h"

#include <gtest/gtest.h>

namespace tessera::passes {
namespace {

std::string order_of(const std::vector<std::string>& texts) {
  std::string order;
  const std::vector<WeightRule> rules = parse_weight_rules(texts).value();
  for (const WeightRule& rule : rules) {
    order += rule.pattern + " " + to_string(rule.form) + "\n";
  }
  return order;
}

TEST(WeightRules, TheLastThatFitsDecides) {
  EXPECT_EQ(order_of({"*/q*=int8:group=32,asymmetric", "int4", "@last=int8"}),
            "@last int8:group=64,symmetric\n"
            "*/q* int8:group=32,asymmetric\n"
            "@small keep\n@last keep\n@first keep\n@embedding keep\n"
            "* int4:group=64,symmetric\n");
}

TEST(WeightRules, FloatsOfEightBits) {
  EXPECT_EQ(order_of({"fp8", "a=fp8:tensor,static", "b=fp8:dynamic", "@last=fp8:channel"}),
            "@last fp8:channel\nb fp8:channel,dynamic\na fp8:tensor,static\n"
            "@small keep\n@last keep\n@first keep\n@embedding keep\n* fp8:channel\n");
}

TEST(WeightRules, NamesMayHaveSigns) {
  EXPECT_EQ(
      order_of({"a=b=int4:group=128"}),
      "a=b int4:group=128,symmetric\n@small keep\n@last keep\n@first keep\n@embedding keep\n");
}

TEST(WeightRules, WhatTheyRefuse) {
  for (const char* text :
       {"int5", "int4:group=48", "int4:group=", "int4:group=64x", "int4:fast", "=int4",
        "@middle=int4", "", "int4:", "int4;symmetric", "lossless:group=32", "@last=lossless",
        "fp8:symmetric", "fp8:group=32", "fp8:", "fp4"}) {
    const auto rules = parse_weight_rules(std::vector<std::string>{text});
    ASSERT_FALSE(rules) << text;
    EXPECT_NE(rules.error().list.front().remedy, "") << text;
  }
}

// Kinds of products do not count: nothing is lost.
TEST(WeightRules, OfConstantsNamesAloneDecide) {
  const auto form_of = [](const std::vector<std::string>& texts, const std::string& name) {
    const std::vector<WeightRule> rules = parse_weight_rules(texts).value();
    const WeightRule* rule = rule_of_constant(rules, std::vector<std::string>{"/other", name});
    return rule == nullptr ? "" : to_string(rule->form);
  };
  EXPECT_EQ(form_of({"lossless"}, "/a"), "lossless");
  EXPECT_EQ(form_of({"lossless", "/a=keep"}, "/a"), "keep");
  EXPECT_EQ(form_of({"lossless", "/a*=int4"}, "/ab"), "int4:group=64,symmetric");
  EXPECT_EQ(form_of({"lossless", "int8"}, "/a"), "int8:group=64,symmetric");
  EXPECT_EQ(form_of({"/b=lossless", "@last=keep"}, "/b"), "lossless");
  EXPECT_EQ(form_of({"/b=lossless", "@last=keep"}, "/a"), "");
}

}  // namespace
}  // namespace tessera::passes
