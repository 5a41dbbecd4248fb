// SPDX-License-Identifier: Apache-2.0
#include "plan/constants.h"

#include <gtest/gtest.h>

#include "plan/plan.h"
#include "tir/stmt.h"
#include "types/target_list.h"

namespace tessera::plan {
namespace {

class ConstantsTest : public ::testing::Test {
 protected:
  // A constant of so many numbers, all of them `value`.
  ConstantIndex constant(std::int64_t count, double value) {
    const std::vector<double> numbers(static_cast<std::size_t>(count), value);
    return module_.constants.add(tensor_from_doubles({count}, kFloat32, numbers));
  }
  // A program that reads them.
  void read(const std::vector<ConstantIndex>& constants) {
    tir::PrimFunc f;
    f.is_host = true;
    f.body = tir::seq({});
    for (const ConstantIndex index : constants) {
      const std::int64_t count = module_.constants[index].shape[0];
      f.body = tir::AllocateConst::make(
          tir::make_buffer("c", kFloat32, {tir::Expr(count)}, tir::MemoryScope::kConstant),
          ConstantValue(index), f.body);
    }
    module_.prim_funcs["main"] = std::move(f);
  }
  Result<ConstantPlan> planned(const std::vector<std::string>& pools) {
    return plan_constants(module_, *parse_pools(pools));
  }
  std::string error_of(const std::vector<std::string>& pools) {
    const auto plan = planned(pools);
    return plan ? "" : render(plan.error());
  }

  Module module_;
};

TEST_F(ConstantsTest, ThoseThatAreReadLieBehindEachOther) {
  const ConstantIndex a = constant(20, 1), unread = constant(7, 2), b = constant(1, 3);
  read({b, a});
  const auto plan = planned({});
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->pools.size(), 1u);
  EXPECT_EQ(to_string(plan->pools[0]), "name=constants,space=constant");
  EXPECT_EQ(plan->pools[0].bytes, 132);
  EXPECT_EQ(plan->bytes, 192);
  EXPECT_EQ(plan->need_of[0][a.index()], 0);
  EXPECT_EQ(plan->need_of[0][unread.index()], -1);
  EXPECT_EQ(plan->offset(1), 128);  // 80 bytes, and the next multiple of 64
}

// A pool begins at a multiple of its alignment, behind the one before.
TEST_F(ConstantsTest, PoolsInOrderOfPreference) {
  const ConstantIndex a = constant(32, 1), b = constant(33, 2), c = constant(8, 3);
  read({a, b, c});
  const auto plan = planned(
      {"name=fast,space=constant,size=256", "name=slow,space=constant,align=4096", "name=work"});
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->pools.size(), 2u);  // what is computed has another
  EXPECT_EQ(plan->offset(0), 0);
  EXPECT_EQ(plan->offset(1), 4096);
  EXPECT_EQ(plan->offset(2), 128);
  EXPECT_EQ(plan->bytes, 4096 + 192);
}

TEST_F(ConstantsTest, OnADeviceTheyAreThere) {
  module_.targets = *parse_targets(std::vector<std::string>{"cuda"});
  read({constant(4, 1)});
  EXPECT_EQ(to_string(planned({})->pools[0].space), "cuda/constant");
  EXPECT_NE(error_of({"name=rom,space=constant"})
                .find("pool `rom` is in the memory space `constant`, and constants of this program "
                      "lie in `cuda/constant`"),
            std::string::npos);
}

// Its own, those of a kernel that it calls, and those of a back end's code.
TEST_F(ConstantsTest, AProgramHasThoseThatItsCallsRead) {
  const ConstantIndex own = constant(1, 1), in_kernel = constant(1, 2), of_code = constant(1, 3),
                      elsewhere = constant(1, 4);
  read({in_kernel});
  module_.prim_funcs["kernel"] = module_.prim_funcs.at("main");
  module_.artifacts.emplace_back().constants = {{"w", of_code}};
  module_.artifacts.emplace_back().constants = {{"v", elsewhere}};
  module_.externs["region"].artifact = 0;
  module_.externs["other"].artifact = 1;
  read({own});
  const auto call = [](const char* symbol) {
    return tir::CallKernel::make(symbol, std::vector<tir::Buffer>(), std::vector<tir::Buffer>(),
                                 std::vector<tir::Expr>());
  };
  tir::PrimFunc program = module_.prim_funcs.at("main");
  program.body = tir::seq({program.body, call("kernel"), call("region")});
  EXPECT_EQ(constants_of(module_, program), (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(constants_of(module_, module_.prim_funcs.at("kernel")),
            (std::vector<bool>{false, true, false, false}));
}

TEST_F(ConstantsTest, WrongPoolsAreRefused) {
  read({constant(64, 1), constant(64, 2)});
  EXPECT_NE(error_of({"name=rom,space=constant,size=300"})
                .find("no memory pool has room for `constant 1` (256 bytes): `rom` of 300 bytes "
                      "has 44 left"),
            std::string::npos);
  EXPECT_NE(error_of({"name=rom,space=constant,align=8KiB"}).find("at one of 4096 at most"),
            std::string::npos);
  EXPECT_NE(error_of({"name=rom,space=constant,targets=cpu"}).find("is for some targets"),
            std::string::npos);
}

TEST_F(ConstantsTest, PlansListThem) {
  read({constant(64, 1), constant(2, 2)});
  auto plan = make_plan(module_.prim_funcs.at("main"), module_);
  ASSERT_TRUE(plan);
  plan->constants = *plan_constants(module_, {});
  EXPECT_EQ(print_plan(*plan),
            "pool arena 0 bytes\n"
            "pool constants on constant 264 bytes\n"
            "at most 0 bytes live at once\n"
            "constants offset 0 bytes 256 constant 0\n"
            "constants offset 256 bytes 8 constant 1\n");
}

// What has no place is not listed, and leaves no gap.
TEST_F(ConstantsTest, PlacesOfOthersAlone) {
  read({constant(64, 1), constant(2, 2), constant(40, 3)});
  MemoryPlan plan;
  plan.constants = *without_places_of({1}, *planned({"name=rom,space=constant,align=4096"}));
  EXPECT_EQ(plan.constants.bytes, 256 + 192);
  EXPECT_EQ(plan.constants.offset(2), 256);
  EXPECT_EQ(plan.constants.need_of[0], (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(print_plan(plan),
            "pool rom on constant 416 bytes\n"
            "at most 0 bytes live at once\n"
            "rom offset 0 bytes 256 constant 0\n"
            "rom offset 256 bytes 160 constant 2\n");
  plan.constants = *without_places_of({0, 1, 2}, std::move(plan.constants));
  EXPECT_EQ(plan.constants.bytes, 0);
  EXPECT_EQ(print_plan(plan), "at most 0 bytes live at once\n");
}

}  // namespace
}  // namespace tessera::plan
