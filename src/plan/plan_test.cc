// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gtest/gtest.h>

#include "plan/liveness.h"
#include "plan/testing/sound_plan.h"
#include "tir/expr_ops.h"
#include "tir/stmt.h"
#include "types/target_list.h"

namespace tessera::plan {
namespace {

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
  const auto plan = make_plan(host(x, y, body), module_);
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
  const auto plan = make_plan(host(x, y, body), module_);
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
  const auto plan = make_plan(host(x, y, body), module_);
  ASSERT_TRUE(plan);
  testing::expect_sound(plan->needs, plan->placements, plan->pools);
  EXPECT_EQ(plan->pressure_bytes, 1000 + 32);
  EXPECT_EQ(plan->workspaces.at("f").offset, 0);
}

TEST_F(PlanTest, ThePlanIsText) {
  const auto plan = make_plan(
      host(x, y,
           allocated({a, b},
                     tir::seq({call("f", {x}, {a}), call("g", {a}, {b}), call("h", {b}, {y})}))),
      module_);
  ASSERT_TRUE(plan);
  EXPECT_EQ(print_plan(*plan),
            "pool arena 80 bytes\n"
            "at most 48 bytes live at once, in statement 1: b 32, a 16\n"
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
  const auto plan = make_plan(main, module_);
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
  const auto plan = make_plan(main, module_);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->pools[0].bytes, 4'000'000'000);
  EXPECT_TRUE(plan->heap.contains(open.get()));
}

// A state of [0, ?], say: it never has an element, but is reserved like all whose sizes are found.
TEST_F(PlanTest, AnExtentOfNothingDoesNotPlaceWhatIsReserved) {
  const tir::Buffer sizes = tir::make_host_buffer("sizes", kInt64, {2}, tir::MemoryScope::kStack);
  const tir::Buffer late =
      tir::make_buffer("late", kFloat32, {0, tir::load(sizes, {tir::Expr(1)})});
  const tir::PrimFunc main =
      host(x, y,
           allocated({sizes, late}, tir::seq({call("f", {x}, {sizes}), tir::Reserve::make(late),
                                              call("g", {x}, {late}), call("h", {late}, {y})})));
  const auto plan = make_plan(main, module_);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->heap_count, 1);
  EXPECT_TRUE(plan->heap.contains(late.get()));
  EXPECT_FALSE(plan->buffers.contains(late.get()));
}

// An input lives from the begin of the program, an output to behind its end.
TEST_F(PlanTest, InputsAndOutputsHaveRangesWhereTheyArePlaced) {
  const tir::PrimFunc main =
      host(x, y,
           allocated({a, b}, tir::seq({call("f", {b}, {a}), call("g", {x, a}, {b}),
                                       call("h", {b}, {y}), call("i", {y}, {a})})));
  const Liveness found = compute_liveness(main, module_, ports_of(main, module_));
  ASSERT_EQ(found.needs.size(), 4u);
  expect_range(found.needs[0], 0, 1);  // x
  expect_range(found.needs[1], 2, 4);  // y
  PlanOptions options;
  options.places_ports = true;
  const auto plan = make_plan(main, module_, options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->ports.size(), 2u);
  EXPECT_EQ(plan->ports.at(y.get()).bytes, 16);
  EXPECT_FALSE(plan->buffers.contains(x.get()));
  EXPECT_TRUE(make_plan(main, module_)->ports.empty());
}

TEST_F(PlanTest, AnInputWithoutABoundHasNoPlace) {
  const tir::Expr n = tir::make_var("n");
  const tir::Buffer open = tir::make_buffer("open", kFloat32, {n});
  tir::PrimFunc main = host(open, y, call("f", {open}, {y}));
  main.dims = {n};
  module_.symbols["n"] = {"n", 1, -1, 1, std::nullopt};
  PlanOptions options;
  options.places_ports = true;
  const auto plan = make_plan(main, module_, options);
  ASSERT_FALSE(plan);
  EXPECT_NE(render(plan.error()).find("`open` has no place in a memory pool"), std::string::npos);
  module_.symbols["n"].max = 8;
  EXPECT_EQ(make_plan(main, module_, options)->ports.at(open.get()).bytes, 32);
}

TEST_F(PlanTest, OfADeviceTheCallerHoldsInputsAndOutputs) {
  module_.targets = *parse_targets(std::vector<std::string>{"cuda"});
  PlanOptions options;
  options.places_ports = true;
  const auto plan = make_plan(host(x, y, call("f", {x}, {y})), module_, options);
  ASSERT_FALSE(plan);
  EXPECT_NE(render(plan.error()).find("in programs for a CPU alone"), std::string::npos);
}

}  // namespace
}  // namespace tessera::plan
