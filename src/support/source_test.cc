// SPDX-License-Identifier: Apache-2.0
#include "support/source.h"

#include <type_traits>

#include <gtest/gtest.h>

#include "support/quoted_text.h"
#include "support/utf8.h"
#include "support/visible_text.h"

namespace tessera {
namespace {

// The types hold it: text of which nothing is known becomes no source.
static_assert(!std::is_convertible_v<std::string, Source>);
static_assert(!std::is_constructible_v<Source, std::string>);
static_assert(!std::is_constructible_v<Literal, std::string>);
static_assert(!kIsSafeIn<std::string, SourcePlace>);
static_assert(!kIsSafeIn<const char*, SourcePlace> && !kIsSafeIn<std::string_view, SourcePlace>);
static_assert(!kIsSafeIn<char, SourcePlace> && kIsSafeIn<int, SourcePlace>);
static_assert(!kIsSafeIn<SafeText<struct OtherPlace>, SourcePlace>);

TEST(Source, IsMadeOfLiteralsNumbersAndSources) {
  const std::vector<Source> both = {c_name("a"), source("{}", 2)};
  EXPECT_EQ(source("f({}) {} {:.1f}", fmt::join(both, ", "), Literal("+"), 0.5).text(),
            "f(a, 2) + 0.5");
  EXPECT_EQ(source_in("{0} * {0}", Source("x")).text(), "x * x");
  Source sum = Literal("1") + Source(" + ") + "2";
  sum += ";";
  EXPECT_EQ(sum.text(), "1 + 2;");
}

TEST(Source, StringsHoldAnyBytes) {
  EXPECT_EQ(c_string("a\"b\\c\r\n?"
                     "?/\x7f\xe2\x80\xa8")
                .text(),
            R"("a\"b\\c\015\012\077\077/\177\342\200\250")");
  EXPECT_EQ(c_string(std::string(1, '\0') + "7").text(), R"("\0007")");
  EXPECT_EQ(c_string(std::string(89, 'x')).text(), "\"" + std::string(88, 'x') + "\"\n    \"x\"");
}

TEST(Source, CommentsStayOneLineAndOneComment) {
  EXPECT_EQ(c_comment("relu\r\n#include <x>").text(), R"(relu\x0d\x0a#include <x>)");
  EXPECT_EQ(c_comment("a*/b/*c").text(), R"(a*\x2fb/\x2ac)");
  EXPECT_EQ(c_comment("ends\\").text(), R"(ends\x5c)");
  EXPECT_EQ(c_comment("ends\\  ").text(), R"(ends\x5c  )");
  EXPECT_EQ(c_comment("in\\side").text(), R"(in\side)");
  EXPECT_EQ(c_comment("?"
                      "?/")
                .text(),
            R"(?\x3f/)");
  EXPECT_EQ(c_comment("?"
                      "?"
                      "?"
                      "?/")
                .text(),
            R"(?\x3f?\x3f/)");
  EXPECT_EQ(c_comment("\xe2\x80\xa8 \xe2\x80\xae \xc2\x85 \xff").text(),
            R"(\u2028 \u202e \u0085 \xff)");
  EXPECT_EQ(c_comment("Größe 大").text(), "Größe 大");
  EXPECT_EQ(c_comment_lines("a\\\nb\n", "//   ").text(), "a\\x5c\n//   b\n//   ");
}

TEST(Source, IdentifiersAreLegalAndNobodyElses) {
  EXPECT_EQ(c_identifier("bert/encoder.q"), "bert_encoder_q");
  EXPECT_EQ(c_identifier("x"), "x");
  EXPECT_EQ(c_identifier("A"), "A");
  EXPECT_EQ(c_identifier(""), "v_");
  EXPECT_EQ(c_identifier("7"), "v_7");
  EXPECT_EQ(c_identifier("new"), "v_new");
  EXPECT_EQ(c_identifier("__LINE__"), "v___LINE__");
  EXPECT_EQ(c_identifier("INT64_MIN"), "v_INT64_MIN");
  EXPECT_EQ(c_identifier("tessera_parallel_for"), "v_tessera_parallel_for");
  EXPECT_EQ(c_identifier("main"), "v_main");
  EXPECT_EQ(c_identifier("gr\xc3\xb6\xc3\x9f\r"), "gr_____");
  EXPECT_EQ(c_identifier(std::string(1000, 'x')).size(), 64u);
  for (int first = 0; first < 256; ++first) {
    for (const char* rest : {"", "x", "_", "1", "-"}) {
      const std::string name = c_identifier(std::string(1, static_cast<char>(first)) + rest);
      EXPECT_TRUE(is_c_name(name) && !is_c_word(name)) << name;
    }
  }
  EXPECT_THROW(c_name("a b"), std::exception);
  EXPECT_THROW(c_name("while"), std::exception);
  EXPECT_EQ(c_name("blas_main_0").text(), "blas_main_0");
}

TEST(VisibleText, KeepsWhatHasAShape) {
  EXPECT_EQ(visible("plain Größe 大 🙂\\"), "plain Größe 大 🙂\\");
  EXPECT_EQ(visible("\x1b[31mred\x07\n"), R"(\x1b[31mred\x07\x0a)");
  EXPECT_EQ(visible("\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9\xc2\x9b"),
            R"(\u202a\u202e\u2066\u2069\u009b)");
  EXPECT_EQ(visible("a\xc3"), R"(a\xc3)");
  EXPECT_EQ(visible("\xf3\xa0\x81\x81"), R"(\ue0041)");  // a tag
  EXPECT_EQ(visible_lines("a\tb\n\x1b\r"), "a\tb\n\\x1b\\x0d");
}

TEST(Utf8, TellsCharactersFromBytes) {
  EXPECT_EQ(first_character("\xe5\xa4\xa7x").code, U'大');
  EXPECT_EQ(first_character("\xf4\x8f\xbf\xbd").code, 0x10FFFDu);
  for (const char* bad : {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe5\xa4", "\xe5x"}) {
    EXPECT_EQ(first_character(bad).bytes, 0u) << visible(bad);
  }
}

TEST(QuotedText, IsOneLineOfVisibleText) {
  EXPECT_EQ(quoted("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(quoted("\x1b\x7f\xff"), R"("\x1b\x7f\xff")");
  EXPECT_EQ(quoted("\xe2\x80\xae"), R"("\xe2\x80\xae")");
  EXPECT_EQ(quoted("大"), "\"大\"");
}

}  // namespace
}  // namespace tessera
