// SPDX-License-Identifier: Apache-2.0
// The 150 damaged texts of testdata/mutated_texts.txt: each is read and its types are inferred, or
// it is refused with places in the text; nothing does anything worse. A line is the name of a text
// and edits in order, each an offset, how many bytes go, and what comes in their place.
#include <fstream>
#include <iomanip>
#include <sstream>

#include <gtest/gtest.h>

#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "support/files.h"

namespace tessera::ops {
namespace {

const std::string kSource = TESSERA_SOURCE_DIR;

std::string mutated(const std::string& line) {
  std::istringstream in(line);
  std::string name, text;
  in >> name;
  const std::string path = name == "everything" ? "/src/relay/text/testdata/everything.relay"
                                                : "/src/ops/samples/testdata/mutated_base.relay";
  text = read_file(kSource + path).value();
  std::size_t at = 0, count = 0;
  for (std::string piece; in >> at >> count >> std::quoted(piece);) {
    text.replace(std::min(at, text.size()), count, piece);
  }
  return text;
}

void expect_places(const Diagnostics& errors) {
  EXPECT_FALSE(errors.empty());
  for (const Diagnostic& d : errors.list) {
    EXPECT_EQ(to_string(d.location).substr(0, 8), "m.relay:") << d.message;
    EXPECT_FALSE(d.message.empty());
  }
  EXPECT_FALSE(render(errors).empty());
}

// Was it read?
bool check(const std::string& text) {
  const auto file = std::make_shared<const SourceFile>(SourceFile{"m.relay", text});
  auto module = parse_module(file, operators());
  if (!module) {
    expect_places(module.error());
    return false;
  }
  const auto printed =
      std::make_shared<const SourceFile>(SourceFile{"printed.relay", print(*module)});
  const auto again = parse_module(printed, operators());
  EXPECT_TRUE(again.has_value()) << (again ? "" : render(again.error()));
  if (again) {
    EXPECT_TRUE(compare(*module, *again, {.prim_funcs = true}).equal);
  }
  const auto typed = infer_types(std::move(*module));
  if (!typed) expect_places(typed.error());
  return true;
}

TEST(MutatedTexts, AreReadOrRefusedWithAPlace) {
  std::ifstream list(kSource + "/src/ops/samples/testdata/mutated_texts.txt");
  int lines = 0, read = 0;
  for (std::string line; std::getline(list, line); ++lines) {
    SCOPED_TRACE(fmt::format("line {}: {}", lines + 1, line));
    read += check(mutated(line)) ? 1 : 0;
  }
  EXPECT_EQ(lines, 150);
  EXPECT_GT(read, 5) << "some edits do no harm";
  EXPECT_LT(read, 100);
}

TEST(MutatedTexts, AreMadeOfGoodOnes) {
  EXPECT_TRUE(check(mutated("everything")));
  EXPECT_TRUE(check(mutated("back_ends")));
}

}  // namespace
}  // namespace tessera::ops
