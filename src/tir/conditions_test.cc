// SPDX-License-Identifier: Apache-2.0
#include "tir/conditions.h"

#include <gtest/gtest.h>

namespace tessera::tir {
namespace {

using Pieces = std::vector<std::string>;

TEST(SentencePieces, StandAroundTheValues) {
  EXPECT_EQ(sentence_pieces("none"), Pieces({"none"}));
  EXPECT_EQ(sentence_pieces("{}"), Pieces({"", ""}));
  EXPECT_EQ(sentence_pieces("{} of {} elements"), Pieces({"", " of ", " elements"}));
  EXPECT_EQ(sentence_pieces("{{}} is {{{}}}"), Pieces({"{} is {", "}"}));
}

TEST(SentencePieces, TextThatIsQuotedIsOneAsItStands) {
  for (const char* text : {"a{} b", "{", "}", "}{", "{{}}", "{{{", "a(){return 0;} int b"}) {
    EXPECT_EQ(sentence_pieces(quoted_in_sentence(text)), Pieces({text})) << text;
    EXPECT_EQ(sentence_pieces("node `" + quoted_in_sentence(text) + "`: {}"),
              Pieces({"node `" + std::string(text) + "`: ", ""}));
  }
}

}  // namespace
}  // namespace tessera::tir
