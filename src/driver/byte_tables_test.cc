// SPDX-License-Identifier: Apache-2.0
// Functions of one byte as tables (tabulate-bytes), by both executors and in generated code.
#include <fmt/format.h>

#include "driver/testing/dynamic_shapes.h"

namespace tessera::driver {
namespace {

struct BytesCase {
  const char* dtype;
  double least, most;
};
void PrintTo(const BytesCase& c, std::ostream* out) { *out << c.dtype; }

class ByteTables : public testing::DynamicShapes,
                   public ::testing::WithParamInterface<BytesCase> {};

// The image is read twice: GELU is the product of it and of what is quantised on the way.
TEST_P(ByteTables, AreReadWhateverTheSizes) {
  const BytesCase& c = GetParam();
  const auto quantised = [&](const std::string& x, double scale) {
    return fmt::format(
        "cast(minimum(maximum(add(round(divide({}, {}f)), 3f), {}f), {}f), dtype=\"{}\")", x, scale,
        c.least, c.most, c.dtype);
  };
  options_.partition = Partition::kNone;
  options_.dump_dir = folder_.file("dump");
  compile_text(
      fmt::format("def @main(%x: Tensor[(?n, 13), {}]) {{\n"
                  "  %0 = multiply(subtract(cast(%x, dtype=\"float32\"), 5f), 0.03f);\n"
                  "  %1 = {};\n"
                  "  %2 = multiply(cast(%1, dtype=\"float32\"), 0.01f);\n  {}\n}}\n",
                  c.dtype, quantised("erf(divide(%0, 1.4142135f))", 0.01),
                  quantised("multiply(%0, %2)", 0.02)));
  const auto loops = read_file(options_.dump_dir + "/loops.tir");
  const auto kernels = read_file(options_.dump_dir + "/kernels_0.cc");
  ASSERT_TRUE(loops && kernels);
  EXPECT_EQ(loops->find("erf"), std::string::npos);
  EXPECT_NE(kernels->find("tk::map_bytes("), std::string::npos);
  for (const std::int64_t n : {1, 4, 5, 64, 197}) expect_right({{"n", n}});
}

INSTANTIATE_TEST_SUITE_P(All, ByteTables,
                         ::testing::Values(BytesCase{"uint8", 0, 255},
                                           BytesCase{"int8", -128, 127}),
                         [](const auto& info) { return std::string(info.param.dtype); });

}  // namespace
}  // namespace tessera::driver
