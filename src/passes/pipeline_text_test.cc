// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline_text.h"

#include <gtest/gtest.h>

namespace tessera::passes {
namespace {

struct TestOptions {
  relay::AttrValue any;
  std::int64_t count = 0;
  bool flag = false;
  std::vector<std::string> words;
  static constexpr auto fields = std::tuple{
      relay::attr("any", &TestOptions::any), relay::attr("count", &TestOptions::count),
      relay::attr("flag", &TestOptions::flag), relay::attr("words", &TestOptions::words)};
};

const Pass kPlain{.name = "plain-pass", .summary = ""};
const Pass kRich{.name = "rich", .summary = "", .options = relay::attr_schema<TestOptions>};
const Pass* const kKnown[] = {&kPlain, &kRich};

std::vector<PassCall> good_pipeline(std::string_view text) {
  auto calls = parse_pipeline(text, kKnown);
  if (calls) return std::move(*calls);
  ADD_FAILURE() << text << "\n" << render(calls.error());
  return {};
}

// "E0402 1:7 message" of the first error, with its remedy.
std::string error_of(std::string_view text) {
  const auto calls = parse_pipeline(text, kKnown);
  if (calls) return "";
  const Diagnostic& d = calls.error().list[0];
  std::string place = to_string(d.location);
  place.erase(0, place.find(':') + 1);
  return std::string(code_text(d.code)) + " " + place + " " + d.message +
         (d.remedy.empty() ? "" : "; " + d.remedy);
}

relay::AttrValue value_of(std::string_view text) {
  const auto calls = good_pipeline("rich{any=" + std::string(text) + "}");
  const relay::AttrValue* v = calls.empty() ? nullptr : calls[0].options.find("any");
  return v == nullptr ? relay::AttrValue() : *v;
}

TEST(PipelineText, ListsOfPasses) {
  EXPECT_TRUE(good_pipeline("").empty());
  EXPECT_TRUE(good_pipeline("  ").empty());
  const auto calls = good_pipeline(" plain-pass , rich{ count = 3 , flag=true },plain-pass{}");
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].pass, &kPlain);
  EXPECT_EQ(calls[1].pass, &kRich);
  EXPECT_EQ(calls[1].options.int_or_zero("count"), 3);
  EXPECT_EQ(calls[1].options.int_or_zero("flag"), 1);
  EXPECT_TRUE(calls[2].options.empty());
}

TEST(PipelineText, AllFormsOfValues) {
  EXPECT_EQ(value_of("true"), relay::AttrValue(true));
  EXPECT_EQ(value_of("false"), relay::AttrValue(false));
  EXPECT_EQ(value_of("-12"), relay::AttrValue(-12));
  EXPECT_EQ(value_of("2.5"), relay::AttrValue(2.5));
  EXPECT_EQ(value_of("1e-3"), relay::AttrValue(1e-3));
  EXPECT_EQ(value_of("nn.conv2d:NHWC"), relay::AttrValue("nn.conv2d:NHWC"));
  EXPECT_EQ(value_of("../a/b_1.npz"), relay::AttrValue("../a/b_1.npz"));
  EXPECT_EQ(value_of("12x"), relay::AttrValue("12x"));
  EXPECT_EQ(value_of("inf"), relay::AttrValue("inf"));
  EXPECT_EQ(value_of("nan"), relay::AttrValue("nan"));
  EXPECT_EQ(value_of("\"a b, {c}=[d]\""), relay::AttrValue("a b, {c}=[d]"));
  EXPECT_EQ(value_of("\"\""), relay::AttrValue(""));
  EXPECT_EQ(value_of("\"3\""), relay::AttrValue("3"));
  EXPECT_EQ(value_of("[]"), relay::AttrValue(relay::AttrArray{}));
  EXPECT_EQ(value_of("[1, a, \"\", [2]]"),
            relay::AttrValue(relay::AttrArray{1, "a", "", relay::AttrArray{2}}));
}

TEST(PipelineText, OptionsAreNormalised) {
  EXPECT_TRUE(good_pipeline("rich{count=0,flag=false}")[0].options.empty()) << "the defaults";
  EXPECT_EQ(good_pipeline("rich{words=one}")[0].options,
            good_pipeline("rich{words=[one]}")[0].options);
  EXPECT_EQ(good_pipeline("rich{words=[9, true]}")[0].options,
            good_pipeline("rich{words=[\"9\", \"true\"]}")[0].options)
      << "what is wanted tells what it is";
}

TEST(PipelineText, ErrorsSayWhereAndWhatThereIs) {
  EXPECT_EQ(error_of("rich,plain"),
            "E0401 1:6 there is no pass `plain`; the passes are plain-pass, rich");
  EXPECT_EQ(error_of("plain-pass,"), "E0402 1:12 expected the name of a pass, found the end");
  EXPECT_EQ(error_of("rich{color=1}"),
            "E0402 1:1 pass `rich`: unknown option `color`; it has: any, count, flag, words");
  EXPECT_EQ(error_of("plain-pass{a=1}").substr(0, 51),
            "E0402 1:1 pass `plain-pass`: unknown option `a`; it");
  EXPECT_NE(error_of("rich{count=many}").find("`count`"), std::string::npos);
  EXPECT_EQ(error_of("rich{count=1,flag=true,count=1}"),
            "E0402 1:24 option `count` is given twice");
  EXPECT_NE(error_of("rich{flag=maybe}").find("must be true or false"), std::string::npos);
  EXPECT_EQ(error_of("rich{count}"), "E0402 1:11 expected `KEY=VALUE`, found `}`");
  EXPECT_EQ(error_of("rich{count=}"), "E0402 1:12 expected a value, found `}`");
  EXPECT_EQ(error_of("rich{count=1"),
            "E0402 1:13 expected `,` or `}` after an option, found the end");
  EXPECT_EQ(error_of("rich{words=[a"), "E0402 1:14 expected `,` or `]` in a list, found the end");
  EXPECT_EQ(error_of("rich{any=\"a}"), "E0402 1:10 expected a closing quote, found `\"`");
  EXPECT_EQ(error_of("rich;plain-pass"),
            "E0402 1:5 expected `,` or the end of the list, found `;`");
}

TEST(PipelineText, ListsNestToALimit) {
  const auto nested = [](std::size_t depth) {
    return "rich{any=" + std::string(depth, '[') + "1" + std::string(depth, ']') + "}";
  };
  EXPECT_EQ(error_of(nested(400)), "");
  EXPECT_EQ(error_of(nested(401)).substr(0, 51),
            "E0402 1:411 the lists nest more than 400 deep; writ");
  EXPECT_NE(error_of("rich{any=" + std::string(100000, '[')), "");
  std::string beside = "rich{any=[";
  for (int i = 0; i < 1000; ++i) beside += "[1],";
  EXPECT_EQ(error_of(beside + "1]}"), "") << "beside each other is not within";
}

TEST(PipelineText, NamesOfPassesAreUnique) {
  for (const Pass* a : all_passes()) {
    EXPECT_NE(a->run, nullptr) << a->name;
    EXPECT_FALSE(a->summary.empty()) << a->name;
    for (const Pass* b : all_passes()) EXPECT_TRUE(a == b || a->name != b->name) << a->name;
  }
}

}  // namespace
}  // namespace tessera::passes
