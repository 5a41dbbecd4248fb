// SPDX-License-Identifier: Apache-2.0
#include "tir/verify.h"

#include <gtest/gtest.h>

#include "tir/parse.h"
#include "tir/random_function.h"
#include "tir/verify_buffer.h"

namespace tessera::tir {
namespace {

struct VerifyTest : testing::Test {
  VerifyTest() {
    f.inputs = {x};
    f.outputs = {y};
  }
  void refuses(const Stmt& body, std::string_view message) {
    f.body = body;
    const auto result = verify(f, "k");
    ASSERT_FALSE(result) << "expected: " << message;
    const std::string text = render(result.error());
    EXPECT_NE(text.find(message), std::string::npos) << text;
  }
  void accepts(const Stmt& body) {
    f.body = body;
    const auto result = verify(f, "k");
    EXPECT_TRUE(result) << (result ? "" : render(result.error()));
  }
  static Stmt store(const Buffer& b, const Expr& i, const Expr& value) {
    return Store::make(b, std::vector<Expr>{i}, value);
  }
  static Stmt loop(const Expr& i, ForKind kind, const Stmt& body) {
    return For::make(i, Expr(0), Expr(4), kind, body);
  }

  PrimFunc f;
  Buffer x = make_buffer("x", kFloat32, {4}), y = make_buffer("y", kFloat32, {4});
  Buffer t = make_buffer("t", kFloat32, {4}, MemoryScope::kStack);
  Expr i = make_var("i"), j = make_var("j");
};

TEST_F(VerifyTest, AcceptsWhatIsRight) {
  accepts(loop(i, ForKind::kParallel, store(y, i, load(x, {i}))));
  accepts(Allocate::make(t, loop(i, ForKind::kSerial, store(t, i, float_imm(1)))));
  // The same variable one after the other is two scopes.
  accepts(seq({loop(i, ForKind::kSerial, store(y, i, load(x, {i}))),
               loop(i, ForKind::kSerial, store(y, i, load(x, {i})))}));
}

TEST_F(VerifyTest, RefusesWhatIsNotDefined) {
  refuses(store(y, i, float_imm(0)), "variable `i` is used outside of its scope");
  refuses(store(t, Expr(0), float_imm(0)), "buffer `t` is used outside of its scope");
  refuses(
      seq({Allocate::make(t, store(t, Expr(0), float_imm(0))), store(t, Expr(0), float_imm(0))}),
      "buffer `t` is used outside of its scope in `t[0] = 0.0`");
  refuses(loop(i, ForKind::kSerial, loop(i, ForKind::kSerial, store(y, i, float_imm(0)))),
          "a loop over a variable that is in use");
  refuses(Stmt(), "the function has no body");
}

TEST_F(VerifyTest, RefusesWrongTypesAndRanks) {
  refuses(store(y, Expr(0), float_imm(0, kFloat64)), "the value is float64 and should be float32");
  refuses(store(y, int_imm(0, kInt32), float_imm(0)), "an index is int32 and should be int64");
  refuses(Store::make(y, std::vector<Expr>{}, float_imm(0)), "`y` has 1 dimensions, 0 indices");
  refuses(store(y, Expr(0), Add::make(kFloat32, float_imm(1), Expr(1))),
          "the second operand is int64 and should be float32");
  refuses(IfThenElse::make(Expr(1), store(y, Expr(0), float_imm(0)), Stmt()),
          "the condition is int64 and should be bool");
  refuses(store(y, Expr(0), call("wurzel", {load(x, {Expr(0)})})), "no function `wurzel` exists");
  refuses(store(y, Expr(0), call("pow", {load(x, {Expr(0)})})), "`pow` takes 2 operands");
  refuses(Evaluate::make(call("exp", {Expr(1)})), "a function of floats");
  refuses(Evaluate::make(Cast::make(kFloat32.with_lanes(4), Expr(1))), "the operand is int64");
}

TEST_F(VerifyTest, RefusesBuffersThatCannotBe) {
  const auto made = [](std::vector<Expr> shape, MemoryScope scope, DType dtype = kFloat32) {
    return Allocate::make(make_buffer("b", dtype, std::move(shape), scope), seq({}));
  };
  const std::int64_t large = std::int64_t{1} << 62;
  refuses(made({-1}, MemoryScope::kGlobal), "a negative extent");
  refuses(made({4}, MemoryScope::kGlobal, kFloat32.with_lanes(4)), "whose elements are vectors");
  refuses(made({large, large}, MemoryScope::kGlobal), "of more bytes than 64 bits count");
  refuses(made(std::vector<Expr>(65, 1), MemoryScope::kGlobal), "65 dimensions, of which 64 are");
  accepts(made(std::vector<Expr>(64, 1), MemoryScope::kGlobal));
  refuses(made({std::int64_t{1} << 40}, MemoryScope::kStack),
          "a stack buffer of 4398046511104 bytes, of which 1048576 are possible");
  accepts(made({kMaxStackBytes / 4}, MemoryScope::kStack));
  f.dims = {i};
  refuses(made({i}, MemoryScope::kStack), "a stack buffer whose size is not a number");
  f.is_host = true;
  accepts(made({std::int64_t{1} << 40}, MemoryScope::kStack));
  f.is_host = false;
  f.inputs = {make_buffer("x", kFloat32, {-4})};
  refuses(seq({}), "a negative extent: the parameter `x`");
  f.inputs = {make_buffer("x", kFloat32, {ramp(Expr(0), Expr(1), 4)})};
  refuses(seq({}), "an extent or stride of a parameter is int64x4 and should be int64");
}

TEST_F(VerifyTest, ConditionsOfKernelsAndMemoryOfHostPrograms) {
  const std::vector<Expr> none, one{Expr(3)};
  accepts(Require::make(lt(Expr(0), Expr(1)), "there are {}", one));
  refuses(Require::make(lt(Expr(0), Expr(1)), "there are {} and {}", one),
          "a sentence with another number of values");
  refuses(Require::make(Expr(1), "there is one", none), "the condition is int64");
  const Buffer sizes = make_buffer("sizes", kInt64, {1});
  const Buffer late = make_buffer("late", kFloat32, {load(sizes, {Expr(0)})});
  const auto program = [&](const Buffer& reserved) {
    return Allocate::make(sizes, Allocate::make(late, Reserve::make(reserved)));
  };
  refuses(program(late), "memory reserved outside of a host program");
  f.is_host = true;
  accepts(program(late));
  refuses(program(sizes), "memory reserved for a buffer that has its own");
  refuses(Require::make(lt(Expr(0), Expr(1)), "there is one", none), "a condition of a kernel");
}

TEST_F(VerifyTest, RefusesMisplacedLoopsAndCalls) {
  refuses(loop(i, ForKind::kParallel, loop(j, ForKind::kParallel, store(y, i, load(x, {j})))),
          "a parallel loop inside of another");
  refuses(Allocate::make(t, loop(i, ForKind::kParallel, store(t, i, float_imm(0)))),
          "a store to a stack buffer that all iterations of a parallel loop share");
  refuses(
      CallKernel::make("k2", std::vector<Buffer>{x}, std::vector<Buffer>{y}, std::vector<Expr>{}),
      "a call of a kernel outside of a host program");
  f.is_host = true;
  accepts(
      CallKernel::make("k2", std::vector<Buffer>{x}, std::vector<Buffer>{y}, std::vector<Expr>{}));
  refuses(loop(i, ForKind::kParallel, store(y, i, float_imm(0))),
          "a parallel or vectorised loop in a host program");
}

TEST_F(VerifyTest, RefusesWrongConstants) {
  const Tensor data = tensor_from_doubles({2}, kFloat32, std::vector<double>{1, 2});
  refuses(AllocateConst::make(t, data, store(y, Expr(0), load(t, {Expr(0)}))),
          "constant `t` does not have the shape and type of its data");
  const Buffer c = make_buffer("c", kFloat32, {2});
  accepts(AllocateConst::make(c, data, store(y, Expr(0), load(c, {Expr(0)}))));
  refuses(AllocateConst::make(c, data, store(c, Expr(0), float_imm(0))),
          "a store to constant data");
  refuses(AllocateConst::make(c, ConstantIndex(), store(y, Expr(0), load(c, {Expr(0)}))),
          "constant data without an index of the pool");
  const Buffer v = make_buffer("v", kFloat32, {3});
  refuses(View::make(v, x, store(y, Expr(0), load(v, {Expr(0)}))),
          "view `v` has another size than `x`");
}

TEST(VerifyFuzz, RandomFunctionsAreRight) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const auto result = verify(RandomFunctions(seed).function(), "f");
    EXPECT_TRUE(result) << "seed " << seed << "\n" << (result ? "" : render(result.error()));
  }
}

}  // namespace
}  // namespace tessera::tir
