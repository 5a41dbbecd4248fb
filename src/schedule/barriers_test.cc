// SPDX-License-Identifier: Apache-2.0
// Barriers come where threads of a team would race without them, and nowhere else.
#include <algorithm>
#include <filesystem>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedule/device.h"
#include "support/files.h"
#include "tir/parse.h"
#include "tir/print.h"
#include "tir/verify.h"

namespace tessera::schedule {
namespace {

constexpr std::string_view kBarrier = "T.barrier()\n";

tir::PrimFunc parsed(const std::string& text) {
  auto f = tir::parse_prim_func(text);
  TESSERA_CHECK(f.has_value(), "{}{}", text, render(f.error()));
  return *std::move(f);
}
bool is_legal(const tir::PrimFunc& f) { return tir::verify(f, "k").has_value(); }

std::vector<std::size_t> barriers_of(const std::string& text) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(kBarrier); at != text.npos; at = text.find(kBarrier, at + 1)) {
    places.push_back(at);
  }
  return places;
}
std::string without_barrier(const std::string& text, std::size_t at) {
  const std::size_t line = text.rfind('\n', at) + 1;
  return text.substr(0, line) + text.substr(at + kBarrier.size());
}

TEST(Barriers, OfEveryGoldenScheduleAreNeededAndFoundAgain) {
  int barriers = 0, schedules = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/src/schedule/testdata")) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("device_")) continue;
    const std::string text = *read_file(entry.path());
    std::string bare = text;
    for (const std::size_t at : barriers_of(text)) {
      EXPECT_FALSE(is_legal(parsed(without_barrier(text, at)))) << name << ", offset " << at;
      bare = without_barrier(bare, bare.find(kBarrier));
      ++barriers;
    }
    EXPECT_TRUE(is_legal(parsed(text))) << name;
    const tir::PrimFunc placed = place_barriers(parsed(bare));
    EXPECT_EQ(tir::print(placed, "k"), tir::print(parsed(text), "k")) << name;
    ++schedules;
  }
  EXPECT_GE(schedules, 17);
  EXPECT_GE(barriers, 8);
}

TEST(Barriers, AreOnEveryWayWhereSomeNeedThem) {
  const std::string head =
      "@T.prim_func\ndef k(n: T.int64, x: T.Buffer((64,), \"float32\"), *,"
      " y: T.Buffer((64,), \"float32\")):\n  for i in T.blocks(1):\n"
      "    s = T.alloc_buffer((64,), \"float32\", scope=\"shared\")\n";
  const tir::PrimFunc placed = place_barriers(parsed(head + "    for t in T.threads(64):\n"
                                                            "      s[t] = x[t]\n"
                                                            "    if s[3] < s[4]:\n"
                                                            "      for t in T.threads(64):\n"
                                                            "        s[t] = 1.0\n"
                                                            "    while s[0] < 8.0:\n"
                                                            "      for t in T.threads(64):\n"
                                                            "        s[t] = s[t] + 1.0\n"
                                                            "    for j in T.serial(n):\n"
                                                            "      for t in T.threads(64):\n"
                                                            "        y[t] = s[63 - t]\n"));
  EXPECT_TRUE(is_legal(placed));
  EXPECT_EQ(tir::print(placed, "k"), tir::print(parsed(head + "    for t in T.threads(64):\n"
                                                              "      s[t] = x[t]\n"
                                                              "    T.barrier()\n"
                                                              "    if s[3] < s[4]:\n"
                                                              "      T.barrier()\n"
                                                              "      for t in T.threads(64):\n"
                                                              "        s[t] = 1.0\n"
                                                              "    T.barrier()\n"
                                                              "    while s[0] < 8.0:\n"
                                                              "      T.barrier()\n"
                                                              "      for t in T.threads(64):\n"
                                                              "        s[t] = s[t] + 1.0\n"
                                                              "      T.barrier()\n"
                                                              "    for j in T.serial(n):\n"
                                                              "      T.barrier()\n"
                                                              "      for t in T.threads(64):\n"
                                                              "        y[t] = s[63 - t]\n"),
                                                "k"));
}

// Statements of a team at random, over three buffers: what has no barrier gets what it needs.
class RandomTeam {
 public:
  explicit RandomTeam(unsigned seed) : random_(seed) {}
  std::string text() {
    std::string out =
        "@T.prim_func\ndef k(n: T.int64, x: T.Buffer((64,), \"float32\"), *,"
        " y: T.Buffer((64,), \"float32\")):\n  for i in T.blocks(1):\n"
        "    a = T.alloc_buffer((64,), \"float32\", scope=\"shared\")\n"
        "    b = T.alloc_buffer((64,), \"float32\", scope=\"shared\")\n";
    return out + block(4, 3);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string buffer() { return std::vector<std::string>{"a", "b", "y"}[below(3)]; }
  std::string block(std::size_t indent, int depth) {
    std::string out;
    for (int count = 1 + below(3); count > 0; --count) out += statement(indent, depth);
    return out;
  }
  std::string statement(std::size_t indent, int depth) {
    const std::string in(indent, ' ');
    const std::string number = std::to_string(next_++);
    const auto nested = [&](const std::string& head) {
      return in + head + ":\n" + block(indent + 2, depth - 1);
    };
    switch (below(depth > 0 ? 7 : 3)) {
      case 0:
        return fmt::format("{}{}[{}] = {}[5]\n", in, buffer(), below(64), buffer());
      case 1:
        return fmt::format("{}u{}: T.float32 = {}[7]\n", in, number, buffer());
      case 2:
      case 3: {
        const std::string to = buffer(), from = below(2) == 0 ? to : "x";
        return fmt::format("{0}for t in T.threads(64):\n{0}  {1}[t] = {2}[t]\n", in, to, from);
      }
      case 4:
        return nested(fmt::format("for j{} in T.serial({})", number, below(2) == 0 ? "n" : "3"));
      case 5:
        return nested(fmt::format("while {}[1] < 2.0", buffer()));
      default:
        return nested(fmt::format("if {}[2] < 3.0", buffer())) +
               (below(2) == 0 ? in + "else:\n" + block(indent + 2, depth - 1) : "");
    }
  }

  std::mt19937 random_;
  int next_ = 0;
};

TEST(Barriers, MakeRandomTeamsLegal) {
  int needed = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const std::string text = RandomTeam(seed).text();
    const tir::PrimFunc bare = parsed(text), placed = place_barriers(bare);
    needed += is_legal(bare) ? 0 : 1;
    const auto legal = tir::verify(placed, "k");
    EXPECT_TRUE(legal) << tir::print(placed, "k") << (legal ? "" : render(legal.error()));
  }
  EXPECT_GT(needed, 500);
}

}  // namespace
}  // namespace tessera::schedule
