// SPDX-License-Identifier: Apache-2.0
#include "plan/sharing.h"

#include <gtest/gtest.h>

#include "tir/expr_ops.h"
#include "tir/stmt.h"

namespace tessera::plan {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Stmt;

Buffer buffer(const char* name, std::int64_t size = 4) {
  return tir::make_buffer(name, kFloat32, {Expr(size)});
}
Stmt store(const Buffer& to, const Expr& at, const Expr& value) {
  return tir::Store::make(to, std::vector<Expr>{at}, value);
}
Stmt loop(const Expr& var, const Stmt& body) {
  return tir::For::make(var, Expr(0), Expr(4), tir::ForKind::kSerial, body);
}
Stmt call(const char* symbol, std::vector<Buffer> inputs, std::vector<Buffer> outputs) {
  return tir::CallKernel::make(symbol, std::move(inputs), std::move(outputs), std::vector<Expr>{});
}

// main(x, z) -> y, t
struct Program {
  Buffer x = buffer("x"), z = buffer("z"), y = buffer("y"), t = buffer("t");
  Module module;

  // The kernel `symbol` of (x, z) -> y whose body `make(x, z, y, i)` stands in a loop over i.
  template <class F>
  void kernel(const char* symbol, F&& make) {
    tir::PrimFunc f;
    const Buffer a = buffer("a"), b = buffer("b"), c = buffer("c");
    const Expr i = tir::make_var("i");
    f.inputs = {a, b};
    f.outputs = {c};
    f.body = loop(i, make(a, b, c, i));
    module.prim_funcs.emplace(symbol, std::move(f));
  }
  // The inputs in whose memory y may lie.
  std::vector<int> sharers_of_y(std::vector<Stmt> body) const {
    tir::PrimFunc main;
    main.is_host = true;
    main.inputs = {x, z};
    main.outputs = {y, t};
    main.body = tir::seq(std::move(body));
    return shareable_inputs(main, module, 2)[0];
  }
};

using Sharers = std::vector<int>;

// The kernels are a back end's, of which nothing is known.
TEST(Sharing, WhatHasBeenReadIsFree) {
  const Program p;
  EXPECT_EQ(p.sharers_of_y({call("f", {p.x, p.z}, {p.t}), call("g", {p.t}, {p.y})}),
            (Sharers{0, 1}));
  EXPECT_EQ(p.sharers_of_y({call("f", {p.x}, {p.t}), call("g", {p.t, p.z}, {p.y})}), (Sharers{0}));
  EXPECT_EQ(p.sharers_of_y({call("f", {p.z}, {p.y}), call("g", {p.x, p.y}, {p.t})}), (Sharers{}));
}

TEST(Sharing, AViewIsItsSource) {
  const Program p;
  const Buffer view = buffer("view");
  const auto with_view = [&](const Buffer& source, std::vector<Stmt> body) {
    return p.sharers_of_y({tir::View::make(view, source, tir::seq(std::move(body)))});
  };
  EXPECT_EQ(with_view(p.x, {call("f", {p.z}, {p.y}), call("g", {view}, {p.t})}), (Sharers{}));
  EXPECT_EQ(with_view(p.y, {call("f", {p.z}, {view}), call("g", {p.x}, {p.t})}), (Sharers{}));
  EXPECT_EQ(with_view(p.x, {call("f", {view}, {p.t}), call("g", {p.z}, {p.y})}), (Sharers{0}));
}

// Iterations follow each other, so a loop is one step.
TEST(Sharing, ALoopReadsBeforeAndAfterItWrites) {
  const Program p;
  const Stmt body = tir::seq({call("f", {p.x}, {p.t}), call("g", {p.t}, {p.y})});
  const Expr flag = tir::load(tir::make_buffer("flag", kBool, {}), {});
  EXPECT_EQ(p.sharers_of_y({tir::While::make(flag, body)}), (Sharers{1}));
  EXPECT_EQ(p.sharers_of_y({tir::IfThenElse::make(flag, body, call("h", {p.z}, {p.y}))}),
            (Sharers{}));
}

TEST(Sharing, AKernelThatPassesElementsOnWorksInPlace) {
  Program p;
  const auto at = [](const Buffer& b, const Expr& i) { return tir::load(b, {i}); };
  p.kernel("copy", [&](const Buffer& a, const Buffer&, const Buffer& c, const Expr& i) {
    return store(c, i, at(a, i));
  });
  p.kernel("update", [&](const Buffer& a, const Buffer& b, const Buffer& c, const Expr& i) {
    return store(c, i, tir::select(tir::ge(i, 2), at(b, i - 2), at(a, i)));
  });
  p.kernel("by_name", [&](const Buffer& a, const Buffer& b, const Buffer& c, const Expr& i) {
    const Expr old = tir::make_var("old", kFloat32);
    return tir::LetStmt::make(old, at(a, i),
                              store(c, i, tir::select(tir::ge(i, 2), at(b, i - 2), old)));
  });
  p.kernel("by_name_elsewhere",
           [&](const Buffer& a, const Buffer& b, const Buffer& c, const Expr& i) {
             const Expr old = tir::make_var("old", kFloat32);
             const Buffer seen = buffer("seen");
             const Stmt both = tir::seq({store(c, i, old), store(seen, i, old + at(b, 0))});
             return tir::LetStmt::make(old, at(a, i), both);
           });
  p.kernel("add", [&](const Buffer& a, const Buffer& b, const Buffer& c, const Expr& i) {
    return store(c, i, at(a, i) + at(b, i));
  });
  p.kernel("shift", [&](const Buffer& a, const Buffer&, const Buffer& c, const Expr& i) {
    return store(c, i, at(a, 3 - i));
  });
  p.kernel("by_itself", [&](const Buffer& a, const Buffer& b, const Buffer& c, const Expr& i) {
    return store(c, i, tir::select(tir::ge(at(a, i), tir::float_imm(0)), at(b, i), at(a, i)));
  });
  p.kernel("elsewhere", [&](const Buffer& a, const Buffer& b, const Buffer& c, const Expr& i) {
    const Buffer seen = buffer("seen");
    return tir::seq({store(c, i, at(a, i)), store(seen, i, at(a, 0) + at(b, 0))});
  });
  const auto sharers = [&](const char* symbol) {
    return p.sharers_of_y({call(symbol, {p.x, p.z}, {p.y})});
  };
  EXPECT_EQ(sharers("copy"), (Sharers{0, 1}));  // z is not read
  EXPECT_EQ(sharers("update"), (Sharers{0}));
  EXPECT_EQ(sharers("by_name"), (Sharers{0}));
  EXPECT_EQ(sharers("by_name_elsewhere"), (Sharers{}));
  EXPECT_EQ(sharers("add"), (Sharers{}));
  EXPECT_EQ(sharers("shift"), (Sharers{1}));
  EXPECT_EQ(sharers("by_itself"), (Sharers{1}));
  EXPECT_EQ(sharers("elsewhere"), (Sharers{}));
  EXPECT_EQ(p.sharers_of_y({call("update", {p.x, p.x}, {p.y})}), (Sharers{1}));
  EXPECT_EQ(p.sharers_of_y({call("update", {p.x, p.z}, {p.y}), call("f", {p.x}, {p.t})}),
            (Sharers{}));
  EXPECT_EQ(p.sharers_of_y({call("f", {p.x}, {p.t}), call("update", {p.x, p.z}, {p.y})}),
            (Sharers{0}));
}

// A result that is longer has its rows in other places.
TEST(Sharing, SizesAreEqual) {
  Program p;
  p.y = buffer("y", 5);
  EXPECT_EQ(p.sharers_of_y({call("f", {p.x, p.z}, {p.t}), call("g", {p.t}, {p.y})}), (Sharers{}));
}

}  // namespace
}  // namespace tessera::plan
