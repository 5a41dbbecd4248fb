// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "plan/liveness.h"
#include "tir/expr_ops.h"
#include "tir/stmt.h"

namespace tessera::plan {
namespace {

// A need without alignment, so that the sizes of the specification's examples count alone.
Need need(std::string name, std::int64_t bytes, std::vector<TickRange> live) {
  return {std::move(name), bytes, 1, std::move(live)};
}

bool live_together(const Need& a, const Need& b) {
  for (const TickRange& x : a.live) {
    for (const TickRange& y : b.live) {
      if (x.first <= y.last && y.first <= x.last) return true;
    }
  }
  return false;
}

// What every plan must be: aligned, within its pools, and nothing in the way of anything else.
void expect_sound(const std::vector<Need>& needs, const std::vector<Placement>& at,
                  const std::vector<Pool>& pools) {
  ASSERT_EQ(needs.size(), at.size());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    EXPECT_EQ(at[i].offset % needs[i].align_bytes, 0) << needs[i].name;
    const auto pool = std::find_if(pools.begin(), pools.end(),
                                   [&](const Pool& p) { return p.name == at[i].pool; });
    ASSERT_NE(pool, pools.end());
    EXPECT_LE(at[i].offset + needs[i].bytes, pool->bytes);
    for (std::size_t j = 0; j < i; ++j) {
      if (at[i].pool != at[j].pool || !live_together(needs[i], needs[j])) continue;
      EXPECT_TRUE(at[i].offset + needs[i].bytes <= at[j].offset ||
                  at[j].offset + needs[j].bytes <= at[i].offset)
          << needs[i].name << " and " << needs[j].name;
    }
  }
}

std::vector<std::int64_t> offsets(const std::vector<Placement>& placements) {
  std::vector<std::int64_t> out;
  for (const Placement& p : placements) out.push_back(p.offset);
  return out;
}

TEST(GreedyBySize, ThreeThatLiveTogether) {
  const std::vector<Need> needs = {need("bi_a", 10, {{0, 2}}), need("bi_b", 10, {{1, 3}}),
                                   need("bi_c", 10, {{2, 4}})};
  std::vector<Pool> pools = {{}};
  const auto placed = place_greedy_by_size(needs, pools);
  ASSERT_TRUE(placed);
  EXPECT_EQ(offsets(*placed), (std::vector<std::int64_t>{0, 10, 20}));
  EXPECT_EQ(pools[0].bytes, 30);
}

TEST(GreedyBySize, ChainOfSix) {
  std::vector<Need> needs;
  const std::int64_t sizes[] = {10, 20, 100, 40, 50, 50};
  for (std::int64_t i = 0; i < 6; ++i) {
    needs.push_back(need(std::string(1, static_cast<char>('a' + i)), sizes[i], {{i, i + 1}}));
  }
  std::vector<Pool> pools = {{}};
  const auto placed = place_greedy_by_size(needs, pools);
  ASSERT_TRUE(placed);
  expect_sound(needs, *placed, pools);
  EXPECT_EQ(pools[0].bytes, 140);
}

// The specification's fan-out of seven with its conflicts taken both ways: each is a tick at which
// the two live. b, c, d, e live together, which is 210 bytes.
TEST(GreedyBySize, FanOutOfSeven) {
  std::vector<Need> needs;
  const std::int64_t sizes[] = {10, 20, 100, 40, 50, 60, 70};
  for (int i = 0; i < 7; ++i) {
    needs.push_back(need(std::string(1, static_cast<char>('a' + i)), sizes[i], {}));
  }
  std::int64_t tick = 0;
  for (const std::string pair :
       {"ab", "ac", "bc", "be", "bd", "cd", "ce", "de", "df", "ef", "fg"}) {
    for (const char name : pair) {
      needs[static_cast<std::size_t>(name - 'a')].live.push_back({tick, tick});
    }
    tick += 2;
  }
  std::vector<Pool> pools = {{}};
  const auto placed = place_greedy_by_size(needs, pools);
  ASSERT_TRUE(placed);
  expect_sound(needs, *placed, pools);
  EXPECT_GE(pools[0].bytes, 210);
  EXPECT_LE(pools[0].bytes, 220);
}

TEST(GreedyBySize, GapsAreFilled) {
  // b lies after a; once a is gone, c fits before b.
  const std::vector<Need> needs = {need("a", 60, {{0, 1}}), need("b", 50, {{1, 3}}),
                                   need("c", 40, {{3, 4}})};
  std::vector<Pool> pools = {{}};
  const auto placed = place_greedy_by_size(needs, pools);
  ASSERT_TRUE(placed);
  EXPECT_EQ(offsets(*placed), (std::vector<std::int64_t>{0, 60, 0}));
  EXPECT_EQ(pools[0].bytes, 110);
}

TEST(GreedyBySize, AlignmentMovesOffsetsUp) {
  std::vector<Need> needs = {need("a", 10, {{0, 1}}), need("b", 9, {{0, 1}})};
  needs[1].align_bytes = 64;
  std::vector<Pool> pools = {{}};
  const auto placed = place_greedy_by_size(needs, pools);
  ASSERT_TRUE(placed);
  EXPECT_EQ(offsets(*placed), (std::vector<std::int64_t>{0, 64}));
  EXPECT_EQ(pools[0].bytes, 73);
}

TEST(GreedyBySize, APoolThatIsTooSmallIsAnError) {
  const std::vector<Need> needs = {need("bi_a", 10, {{0, 1}}), need("bi_b", 10, {{0, 1}}),
                                   need("bi_c", 10, {{0, 1}})};
  std::vector<Pool> pools = {{"small", 10, 0}};
  const auto placed = place_greedy_by_size(needs, pools);
  ASSERT_FALSE(placed);
  const Diagnostic& d = placed.error().list.front();
  EXPECT_NE(d.message.find("`bi_b` (10 bytes)"), std::string::npos) << d.message;
  EXPECT_FALSE(d.remedy.empty());
}

TEST(GreedyBySize, ASmallPoolFillsUpBeforeTheNext) {
  const std::vector<Need> needs = {need("a", 80, {{0, 2}}), need("b", 30, {{0, 2}}),
                                   need("c", 20, {{0, 2}}), need("d", 30, {{3, 3}})};
  std::vector<Pool> pools = {{"fast", 100, 0}, {"slow", -1, 0}};
  const auto placed = place_greedy_by_size(needs, pools);
  ASSERT_TRUE(placed);
  expect_sound(needs, *placed, pools);
  std::vector<std::string> names;
  for (const Placement& p : *placed) names.push_back(p.pool);
  EXPECT_EQ(names, (std::vector<std::string>{"fast", "slow", "fast", "fast"}));
  EXPECT_EQ(pools[0].bytes, 100);
  EXPECT_EQ(pools[1].bytes, 30);
}

TEST(GreedyBySize, RandomNeedsNeverOverlap) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<Need> needs;
    for (int i = 0; i < 60; ++i) {
      Need n = need("n" + std::to_string(i), random() % 500, {});
      n.align_bytes = std::int64_t{1} << random() % 7;
      std::int64_t tick = random() % 40;
      for (unsigned r = random() % 3 + 1; r > 0; --r) {
        const std::int64_t last = tick + random() % 10;
        n.live.push_back({tick, last});
        tick = last + 1 + random() % 5;
      }
      needs.push_back(std::move(n));
    }
    std::vector<Pool> pools = {{"small", 700, 0}, {"rest", -1, 0}};
    const auto placed = place_greedy_by_size(needs, pools);
    ASSERT_TRUE(placed);
    expect_sound(needs, *placed, pools);
    EXPECT_LE(pools[0].bytes, 700);
    std::vector<Pool> again = {{"small", 700, 0}, {"rest", -1, 0}};
    EXPECT_EQ(offsets(*placed), offsets(*place_greedy_by_size(needs, again)));
  }
}

// All steps of an unrolled recurrence live until the last one.
TEST(GreedyBySize, ThousandsThatLiveTogether) {
  std::vector<Need> needs;
  for (int i = 0; i < 6000; ++i) {
    needs.push_back(need("n" + std::to_string(i), 1 + i % 7, {{i, 6000}}));
    needs.back().align_bytes = 4;
  }
  std::vector<Pool> pools = {{"small", 100, 0}, {"rest", -1, 0}};
  const auto placed = place_greedy_by_size(needs, pools);
  ASSERT_TRUE(placed);
  expect_sound(needs, *placed, pools);
  EXPECT_LE(pools[0].bytes, 100);
}

// ---- Host programs ----

tir::Buffer buffer(const std::string& name, std::int64_t floats) {
  return tir::make_buffer(name, kFloat32, {tir::int_imm(floats)});
}

tir::Stmt call(const std::string& symbol, std::vector<tir::Buffer> inputs,
               std::vector<tir::Buffer> outputs) {
  return tir::CallKernel::make(symbol, std::move(inputs), std::move(outputs),
                               std::vector<tir::Expr>{});
}

// `body` with all of `buffers` allocated around it.
tir::Stmt allocated(const std::vector<tir::Buffer>& buffers, tir::Stmt body) {
  for (auto b = buffers.rbegin(); b != buffers.rend(); ++b) body = tir::Allocate::make(*b, body);
  return body;
}

class PlanTest : public ::testing::Test {
 protected:
  const tir::Buffer x = buffer("x", 4), y = buffer("y", 4), a = buffer("a", 4), b = buffer("b", 8),
                    c = buffer("c", 16);

  static tir::PrimFunc host(const tir::Buffer& in, const tir::Buffer& out, tir::Stmt body) {
    tir::PrimFunc f;
    f.inputs = {in};
    f.outputs = {out};
    f.is_host = true;
    f.body = std::move(body);
    return f;
  }
  Liveness liveness(tir::Stmt body) {
    return compute_liveness(host(x, y, std::move(body)), module_);
  }
  static TickRange only_range(const Need& n) {
    EXPECT_EQ(n.live.size(), 1u) << n.name;
    return n.live.empty() ? TickRange{-1, -1} : n.live.front();
  }
  static void expect_range(const Need& n, std::int64_t first, std::int64_t last) {
    const TickRange range = only_range(n);
    EXPECT_EQ(range.first, first) << n.name;
    EXPECT_EQ(range.last, last) << n.name;
  }

  Module module_;
};

TEST_F(PlanTest, BuffersLiveFromFirstToLastUse) {
  const Liveness found = liveness(
      allocated({a, b}, tir::seq({call("f", {x}, {a}), call("g", {a}, {b}), call("h", {b}, {y})})));
  ASSERT_EQ(found.needs.size(), 2u);
  expect_range(found.needs[0], 0, 1);
  expect_range(found.needs[1], 1, 2);
  EXPECT_EQ(found.needs[0].bytes, 16);
  EXPECT_EQ(found.needs[1].bytes, 32);
}

TEST_F(PlanTest, AViewKeepsItsSourceAlive) {
  const tir::Buffer view = buffer("view", 4);
  const tir::Stmt body =
      allocated({a, b}, tir::seq({call("f", {x}, {a}), call("g", {x}, {b}),
                                  tir::View::make(view, a, tir::seq({call("h", {view}, {y})}))}));
  const Liveness found = liveness(body);
  ASSERT_EQ(found.needs.size(), 2u);  // the view needs nothing of its own
  expect_range(found.needs[0], 0, 2);
  EXPECT_EQ(found.of_buffer.at(view.get()), found.of_buffer.at(a.get()));
  const auto plan = plan_memory(host(x, y, body), module_);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->buffers.at(view.get()).offset, plan->buffers.at(a.get()).offset);
}

TEST_F(PlanTest, ALoopExtendsWhatItUses) {
  const tir::Expr i = tir::make_var("i");
  const tir::Stmt loop = tir::For::make(i, tir::int_imm(0), tir::int_imm(3), tir::ForKind::kSerial,
                                        tir::seq({call("g", {a}, {b}), call("h", {b}, {c})}));
  const Liveness found =
      liveness(allocated({a, b, c}, tir::seq({call("f", {x}, {a}), loop, call("k", {c}, {y})})));
  ASSERT_EQ(found.needs.size(), 3u);
  expect_range(found.needs[0], 0, 2);  // read again by the next iteration
  expect_range(found.needs[1], 1, 2);
  expect_range(found.needs[2], 1, 3);
}

TEST_F(PlanTest, BranchesShareMemory) {
  const tir::Buffer flag = tir::make_buffer("flag", kBool, {});
  const tir::Stmt yes = allocated({a}, tir::seq({call("f", {x}, {a}), call("g", {a}, {y})}));
  const tir::Stmt no = allocated({b}, tir::seq({call("h", {c}, {b}), call("g", {b}, {y})}));
  const tir::Stmt body =
      allocated({flag, c}, tir::seq({call("test", {x}, {flag}), call("f", {x}, {c}),
                                     tir::IfThenElse::make(tir::load(flag, {}), yes, no)}));
  const Liveness found = liveness(body);
  ASSERT_EQ(found.needs.size(), 4u);
  expect_range(found.needs[found.of_buffer.at(flag.get())], 0, 2);  // the condition reads it
  expect_range(found.needs[found.of_buffer.at(c.get())], 1, 5);
  expect_range(found.needs[found.of_buffer.at(a.get())], 3, 4);
  expect_range(found.needs[found.of_buffer.at(b.get())], 5, 6);
  const auto plan = plan_memory(host(x, y, body), module_);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->buffers.at(a.get()).offset, plan->buffers.at(b.get()).offset);
}

// What an iteration allocates is gone with it; what is outside lives as long as the loop.
TEST_F(PlanTest, IterationsShareMemoryWithThemselves) {
  const tir::Buffer flag = tir::make_buffer("flag", kBool, {});
  const tir::Stmt round =
      allocated({a, b}, tir::seq({call("f", {x}, {a}), call("g", {a}, {c}), call("h", {c}, {b}),
                                  call("test", {b}, {flag})}));
  const Liveness found = liveness(allocated(
      {flag, c}, tir::seq({call("test", {x}, {flag}), tir::While::make(tir::load(flag, {}), round),
                           call("k", {x}, {y})})));
  expect_range(found.needs[found.of_buffer.at(flag.get())], 0, 5);
  expect_range(found.needs[found.of_buffer.at(c.get())], 1, 5);
  expect_range(found.needs[found.of_buffer.at(a.get())], 2, 3);
  expect_range(found.needs[found.of_buffer.at(b.get())], 4, 5);
}

TEST_F(PlanTest, AWorkspaceLivesDuringItsCalls) {
  module_.externs["f"].workspace.bytes = 1000;
  module_.externs["g"].workspace.bytes = 0;
  const tir::Stmt body =
      allocated({a, b}, tir::seq({call("f", {x}, {a}), call("g", {a}, {b}), call("f", {b}, {y})}));
  const Liveness found = liveness(body);
  ASSERT_EQ(found.needs.size(), 3u);
  const Need& workspace = found.needs[found.of_workspace.at("f")];
  ASSERT_EQ(workspace.live.size(), 2u);
  EXPECT_EQ(workspace.live[1].first, 2);
  const auto plan = plan_memory(host(x, y, body), module_);
  ASSERT_TRUE(plan);
  expect_sound(plan->needs, plan->placements, plan->pools);
  EXPECT_EQ(plan->pressure_bytes, 1000 + 32);
  EXPECT_EQ(plan->workspaces.at("f").offset, 0);
}

TEST_F(PlanTest, ThePlanIsText) {
  const auto plan = plan_memory(
      host(x, y,
           allocated({a, b},
                     tir::seq({call("f", {x}, {a}), call("g", {a}, {b}), call("h", {b}, {y})}))),
      module_);
  ASSERT_TRUE(plan);
  EXPECT_EQ(print_plan(*plan),
            "pool arena 80 bytes; at most 48 bytes live at once\n"
            "arena offset 64 bytes 16 a ticks 0..1\n"
            "arena offset 0 bytes 32 b ticks 1..2\n");
}

// Sizes with a bound take their maximum; others share pieces of the heap.
TEST_F(PlanTest, SizesThatAreKnownAtRunTime) {
  const tir::Expr n = tir::make_var("n"), m = tir::make_var("m");
  const auto sized = [](const char* name, std::vector<tir::Expr> shape) {
    return tir::make_buffer(name, kFloat32, std::move(shape));
  };
  const tir::Buffer u = sized("u", {n * 2}), v = sized("v", {m}), w = sized("w", {m, n});
  tir::PrimFunc main =
      host(x, y,
           allocated({u, v, w}, tir::seq({call("f", {x}, {u}), call("f", {u}, {v}),
                                          call("f", {v}, {w}), call("f", {w}, {y})})));
  main.dims = {n, m};
  module_.symbols["n"] = {"n", 1, 8, 1, std::nullopt};
  module_.symbols["m"] = {"m", 1, -1, 1, std::nullopt};
  const auto plan = plan_memory(main, module_);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->pools[0].bytes, 8 * 2 * 4);
  EXPECT_EQ(plan->buffers.size(), 1u);
  EXPECT_EQ(plan->heap_count, 2);
  EXPECT_NE(plan->heap.at(v.get()), plan->heap.at(w.get()));
}

// The bound 10^9 of a slice, say.
TEST_F(PlanTest, ABoundFarAboveIsNoReasonToReserve) {
  const tir::Expr n = tir::make_var("n");
  const tir::Buffer open = tir::make_buffer("open", kFloat32, {tir::min(n, 1'000'000'000)});
  const tir::Buffer closed = tir::make_buffer("closed", kFloat32, {1'000'000'000});
  tir::PrimFunc main =
      host(x, y,
           allocated({open, closed}, tir::seq({call("f", {x}, {open}), call("f", {open}, {closed}),
                                               call("f", {closed}, {y})})));
  main.dims = {n};
  module_.symbols["n"] = {"n", 1, -1, 1, std::nullopt};
  const auto plan = plan_memory(main, module_);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->pools[0].bytes, 4'000'000'000);
  EXPECT_TRUE(plan->heap.contains(open.get()));
}

// A state of [0, ?], say: it never has an element, but is reserved like all whose sizes are found.
TEST_F(PlanTest, AnExtentOfNothingDoesNotPlaceWhatIsReserved) {
  const tir::Buffer sizes = tir::make_buffer("sizes", kInt64, {2}, tir::MemoryScope::kStack);
  const tir::Buffer late =
      tir::make_buffer("late", kFloat32, {0, tir::load(sizes, {tir::Expr(1)})});
  const tir::PrimFunc main =
      host(x, y,
           allocated({sizes, late}, tir::seq({call("f", {x}, {sizes}), tir::Reserve::make(late),
                                              call("g", {x}, {late}), call("h", {late}, {y})})));
  const auto plan = plan_memory(main, module_);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->heap_count, 1);
  EXPECT_TRUE(plan->heap.contains(late.get()));
  EXPECT_FALSE(plan->buffers.contains(late.get()));
}

}  // namespace
}  // namespace tessera::plan
