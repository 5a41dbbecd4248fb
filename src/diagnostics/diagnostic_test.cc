// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/diagnostic.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::shared_ptr<const SourceFile> source(std::string name, std::string text) {
  return std::make_shared<const SourceFile>(SourceFile{std::move(name), std::move(text)});
}

Location at(const std::shared_ptr<const SourceFile>& file, std::string_view text) {
  const auto begin = static_cast<std::uint32_t>(file->text.find(text));
  return file_location(file, begin, begin + static_cast<std::uint32_t>(text.size()));
}

TEST(Codes, AreUniqueAndExplained) {
  std::set<std::string_view> texts;
#define CODE(name, text, explanation)                                \
  EXPECT_TRUE(texts.insert(text).second) << text;                    \
  EXPECT_EQ(code_text(Code::name), text);                            \
  EXPECT_EQ(code_explanation(Code::name), explanation);              \
  EXPECT_TRUE(std::string_view(explanation).ends_with('.')) << text; \
  {                                                                  \
    Code found{};                                                    \
    EXPECT_TRUE(find_code(text, found));                             \
    EXPECT_EQ(found, Code::name);                                    \
  }
#include "diagnostics/codes.def"
#undef CODE
  Code unchanged = Code::kSyntax;
  EXPECT_FALSE(find_code("E9999", unchanged));
  EXPECT_EQ(unchanged, Code::kSyntax);
}

std::string read_whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// All tests and goldens of the source tree, but this file's list of codes.
std::string text_of_tests() {
  namespace fs = std::filesystem;
  std::string text;
  for (const char* folder : {"/src", "/tests"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(TESSERA_SOURCE_DIR + std::string(folder))) {
      const std::string path = entry.path().string();
      const bool is_test = path.ends_with("_test.cc") || path.find("/testdata/") != path.npos ||
                           path.find("/testing/") != path.npos;
      if (entry.is_regular_file() && is_test) text += read_whole(entry.path());
    }
  }
  return text;
}

// A code that no test asks for has nothing that shows what it says, or is not reported at all.
TEST(Codes, AreAllSeenByTests) {
  const std::string tests = text_of_tests();
  std::vector<std::string> unseen;
#define CODE(name, text, explanation)                                                           \
  if (tests.find(text) == std::string::npos && tests.find("Code::" #name) == std::string::npos) \
    unseen.emplace_back(text);
#include "diagnostics/codes.def"
#undef CODE
  EXPECT_EQ(unseen, std::vector<std::string>{});
}

TEST(SourceFiles, PositionsAndLines) {
  const SourceFile file{"f", "ab\n\ncde\r\nlast"};
  EXPECT_EQ(file.position(0).line, 1u);
  EXPECT_EQ(file.position(1).column, 2u);
  EXPECT_EQ(file.position(2).line, 1u);
  EXPECT_EQ(file.position(3).line, 2u);
  EXPECT_EQ(file.position(6).line, 3u);
  EXPECT_EQ(file.position(6).column, 3u);
  EXPECT_EQ(file.position(1000).line, 4u);
  EXPECT_EQ(file.line(1), "ab");
  EXPECT_EQ(file.line(2), "");
  EXPECT_EQ(file.line(3), "cde");
  EXPECT_EQ(file.line(4), "last");
  EXPECT_EQ(file.line(5), "");
  EXPECT_EQ(file.line(0), "");
  EXPECT_EQ(file.position(1000).column, 5u);
}

TEST(SourceFiles, EachOfManyLinesIsFoundAtOnce) {
  constexpr std::uint32_t kLines = 500'000, kBytes = 4;  // from the start each time: 5e11 bytes
  std::string text;
  for (std::uint32_t i = 0; i < kLines; ++i) text += "abc\n";
  const SourceFile file{"f", text};
  for (std::uint32_t i = 0; i < kLines; ++i) {
    const auto at = file.position(i * kBytes + 2);
    ASSERT_EQ(at.line, i + 1);
    ASSERT_EQ(at.column, 3u);
    ASSERT_EQ(file.line(i + 1), "abc");
  }
}

TEST(SourceFiles, AnEmptyTextHasOneLine) {
  const SourceFile file{"f", ""};
  EXPECT_EQ(file.position(0).line, 1u);
  EXPECT_EQ(file.position(0).column, 1u);
  EXPECT_EQ(file.line(1), "");
  EXPECT_EQ(file.line(2), "");
}

TEST(Locations, FuseFlattensAndDropsRepetitions) {
  const auto file = source("f", "abc");
  const auto a = file_location(file, 0, 1), b = model_node_location("m.onnx", "b");
  EXPECT_EQ(fuse_locations({nullptr, nullptr}), nullptr);
  EXPECT_EQ(fuse_locations({nullptr, a, file_location(file, 0, 1)}), a);
  const auto both = fuse_locations({a, b});
  EXPECT_EQ(to_string(both), "f:1:1 (and 1 more)");
  EXPECT_EQ(to_string(fuse_locations({both, fuse_locations({b, both}), b})), "f:1:1 (and 1 more)");
  EXPECT_EQ(to_string(b), "m.onnx: node `b`");
  EXPECT_EQ(to_string(model_node_location("m.onnx", "")), "m.onnx");
  EXPECT_EQ(to_string(Location()), "");
}

TEST(Rendering, ExcerptCaretsNotesAndRemedy) {
  const auto file = source("model.relay",
                           "def @main(%w: Tensor[(3), float32]) {\n"
                           "  %h = nn.dense(%x, %w);\n"
                           "}\n");
  const auto d = error(Code::kShapeMismatch, at(file, "nn.dense"),
                       "`nn.dense` sizes differ: {} vs {}", 768, 1024)
                     .note(at(file, "%w"), "`%w` defined here")
                     .with_remedy("transpose the weight");
  EXPECT_EQ(render(Diagnostics(d)),
            "model.relay:2:8: error[E0203]: `nn.dense` sizes differ: 768 vs 1024\n"
            "    %h = nn.dense(%x, %w);\n"
            "         ^~~~~~~~\n"
            "model.relay:1:11: note: `%w` defined here\n"
            "  def @main(%w: Tensor[(3), float32]) {\n"
            "            ^~\n"
            "help: transpose the weight\n");
}

TEST(Rendering, WithoutATextPlace) {
  Diagnostics list(error(Code::kShapeMismatch, model_node_location("m.onnx", "x"), "message"));
  list.add(error(Code::kFileEmpty, nullptr, "empty"));
  list.add(warning(Code::kBadOption, model_node_location("m.onnx", "a"), "odd"));
  EXPECT_EQ(render(list),
            "error[E0102]: empty\n"
            "error[E0203]: m.onnx: node `x`: message\n"
            "help: the message names both; check the operands and attributes of the operator\n"
            "warning[E0404]: m.onnx: node `a`: odd\n");
}

TEST(Rendering, SortsByFileAndOffset) {
  const auto a = source("a", "1\n2\n3\n"), b = source("b", "1\n");
  Diagnostics list(error(Code::kSyntax, at(b, "1"), "fourth"));
  list.add(error(Code::kSyntax, at(a, "3"), "third"));
  list.add(error(Code::kSyntax, at(a, "1"), "first"));
  list.add(error(Code::kSyntax, at(a, "1"), "second"));
  const std::string text = render(list);
  EXPECT_LT(text.find("first"), text.find("second"));
  EXPECT_LT(text.find("second"), text.find("third"));
  EXPECT_LT(text.find("third"), text.find("fourth"));
}

TEST(Rendering, TabsAndWideCharactersKeepTheMarksInPlace) {
  const auto file = source("f", "\tä%x ö\nnext");
  EXPECT_EQ(render(error(Code::kSyntax, at(file, "%x ö\nne"), "m")),
            "f:1:4: error[E0201]: m\n"
            "  \tä%x ö\n"
            "  \t ^~~~\n"
            "help: see docs/graph-ir.md and docs/loop-ir.md for what is read\n");
  EXPECT_EQ(render(error(Code::kSyntax, file_location(file, 1000, 1001), "at the end")),
            "f:2:5: error[E0201]: at the end\n  next\n      ^\n"
            "help: see docs/graph-ir.md and docs/loop-ir.md for what is read\n");
}

TEST(Rendering, LongLinesAreCutAroundThePlace) {
  const auto file = source("f", std::string(5000, 'a') + "%here" + std::string(5000, 'b'));
  const std::string text = render(error(Code::kSyntax, at(file, "%here"), "m"));
  EXPECT_LT(text.size(), 500u);
  const auto lines = text.find('\n') + 1;
  const std::string excerpt = text.substr(lines, text.find('\n', lines) - lines);
  const std::string marks = text.substr(text.find('\n', lines) + 1);
  EXPECT_TRUE(excerpt.starts_with("  ...aaa") && excerpt.ends_with("bbb...")) << excerpt;
  EXPECT_EQ(excerpt.substr(marks.find('^'), 5), "%here");
  const auto short_before = source("g", "%here" + std::string(5000, 'b'));
  EXPECT_TRUE(render(error(Code::kSyntax, at(short_before, "%here"), "m")).find("\n  ^~~~~\n") !=
              std::string::npos);
}

TEST(Rendering, FusedPlacesAreListed) {
  std::vector<Location> parts;
  for (char c = 'a'; c < 'g'; ++c)
    parts.push_back(model_node_location("m.onnx", std::string(1, c)));
  EXPECT_EQ(render(error(Code::kNotSupported, fuse_locations(parts), "no")),
            "error[E0504]: m.onnx: node `a`: no\n"
            "note: m.onnx: node `b`: fused with this\n"
            "note: m.onnx: node `c`: fused with this\n"
            "note: m.onnx: node `d`: fused with this\n"
            "note: fused with 2 more\n");
}

TEST(Rendering, ColourChangesNoText) {
  const auto file = source("f", "abc");
  const Diagnostics list(error(Code::kSyntax, at(file, "b"), "m").with_remedy("r"));
  std::string coloured = render(list, {.colour = true}), plain;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\033') {
      i = coloured.find('m', i);
    } else {
      plain += coloured[i];
    }
  }
  EXPECT_NE(coloured, plain);
  EXPECT_EQ(plain, render(list));
}

// Names of a model, and text of a file, are no commands of a terminal and no lines of ours.
TEST(Rendering, WhatTerminalsObeyIsMadeVisible) {
  const auto model = model_node_location("m\x1b[2J.onnx", "n\n\xe2\x80\xae");
  EXPECT_EQ(render(error(Code::kNotSupported, model, "no {}", "\x07\xff")
                       .note(nullptr, "a\rb")
                       .with_remedy("c\x9b")),
            "error[E0504]: m\\x1b[2J.onnx: node `n\\x0a\\u202e`: no \\x07\\xff\n"
            "note: a\\x0db\n"
            "help: c\\x9b\n");
  const auto file = source("f", "\tab\x1b cd");
  EXPECT_EQ(render(error(Code::kSyntax, at(file, "cd"), "m").with_remedy("r")),
            "f:1:6: error[E0201]: m\n  \tab\\x1b cd\n  \t       ^~\nhelp: r\n");
}

}  // namespace
}  // namespace tessera
