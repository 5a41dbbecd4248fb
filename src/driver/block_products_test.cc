// SPDX-License-Identifier: Apache-2.0
// Products with weights of a few bits, from ONNX to both executors: numbers, who computes them, and
// what the library stores.
#include <filesystem>

#include <fmt/format.h>

#include "driver/testing/dynamic_shapes.h"
#include "import/testing/model.h"
#include "ops/evaluation/compare.h"

namespace tessera::driver {
namespace {

using import::TestModel;
using testing::DynamicShapes;
using testing::value_of;
using Proto = onnx::TensorProto;

enum class Form : std::uint8_t {
  kMatMulNBits,
  kRows,     // DequantizeLinear of [columns, terms], transposed
  kColumns,  // DequantizeLinear of [terms, columns]
};

// A product of more elements than importing folds.
struct Case {
  const char* name;
  Form form;
  std::int64_t bits, block, terms, columns;
  bool has_zero_points = false, has_bias = false;
  int floats = Proto::FLOAT;
};

std::string bytes_of(std::int64_t count, unsigned seed) {
  std::string bytes;
  for (std::int64_t i = 0; i < count; ++i)
    bytes += static_cast<char>((seed = seed * 1103515245 + 12345) >> 16);
  return bytes;
}

class BlockProducts : public DynamicShapes {
 protected:
  static void constant(TestModel& m, const std::string& name, int dtype,
                       const std::vector<std::int64_t>& shape, const std::string& bytes) {
    Proto* t = m.proto.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(dtype);
    for (const std::int64_t d : shape) t->add_dims(d);
    t->set_raw_data(bytes);
  }

  static void numbers(TestModel& m, const std::string& name, int dtype,
                      const std::vector<std::int64_t>& shape) {
    const Tensor wide = exec::random_input({"", kFloat32, shape}, name.size());
    std::vector<double> values;  // small: sums of a thousand
    for (std::int64_t i = 0; i < wide.num_elements(); ++i) {
      values.push_back(element_as_double(wide, i) / 64);
    }
    const Tensor t =
        tensor_from_doubles(shape, dtype == Proto::FLOAT ? kFloat32 : kFloat16, values);
    const auto bytes = t.blob->bytes();
    constant(m, name, dtype, shape, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  static void add_nbits(TestModel& m, const Case& c) {
    const std::int64_t blocks = (c.terms + c.block - 1) / c.block;
    constant(m, "w", Proto::UINT8, {c.columns, blocks, c.block * c.bits / 8},
             bytes_of(c.columns * blocks * c.block * c.bits / 8, 1));
    numbers(m, "scale", c.floats, {c.columns, blocks});
    const std::int64_t zeros = (blocks * c.bits + 7) / 8;
    if (c.has_zero_points)
      constant(m, "z", Proto::UINT8, {c.columns, zeros}, bytes_of(c.columns * zeros, 2));
    if (c.has_bias) numbers(m, "bias", c.floats, {c.columns});
    auto* n = m.node(
        "MatMulNBits",
        {"x", "w", "scale", c.has_zero_points ? "z" : "", "", c.has_bias ? "bias" : ""}, {"y"});
    n->set_domain("com.microsoft");
    import::set_int(n, "K", c.terms);
    import::set_int(n, "N", c.columns);
    import::set_int(n, "bits", c.bits);
    import::set_int(n, "block_size", c.block);
  }

  static void add_dequantized(TestModel& m, const Case& c) {
    const std::int64_t blocks = (c.terms + c.block - 1) / c.block;
    const bool rows = c.form == Form::kRows;
    const auto shape = [&](std::int64_t along) {
      return rows ? std::vector{c.columns, along} : std::vector{along, c.columns};
    };
    const int dtype = c.bits == 4 ? Proto::INT4 : Proto::INT8;
    constant(m, "w", dtype, shape(c.terms), bytes_of((c.columns * c.terms * c.bits + 7) / 8, 1));
    numbers(m, "scale", c.floats, shape(blocks));
    if (c.has_zero_points) {
      constant(m, "z", dtype, shape(blocks), bytes_of((c.columns * blocks * c.bits + 7) / 8, 2));
    }
    auto* n = m.node("DequantizeLinear",
                     c.has_zero_points ? std::vector<std::string>{"w", "scale", "z"}
                                       : std::vector<std::string>{"w", "scale"},
                     {"d"});
    import::set_int(n, "axis", rows ? 1 : 0);
    import::set_int(n, "block_size", c.block);
    if (rows) import::set_ints(m.node("Transpose", {"d"}, {"t"}), "perm", {1, 0});
    m.node("MatMul", {"x", rows ? "t" : "d"}, {"y"});
  }

  // [2, rows, terms] times the weight; rows are open where they are 0.
  void compile_case(const Case& c, std::int64_t rows, const std::vector<std::string>& targets) {
    TestModel m(21);
    auto* domain = m.proto.add_opset_import();
    domain->set_domain("com.microsoft");
    domain->set_version(1);
    m.input("x", {2, rows, c.terms}, c.floats);
    if (rows == 0) {
      auto* type = m.proto.mutable_graph()->mutable_input(0)->mutable_type();
      type->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param("n");
    }
    c.form == Form::kMatMulNBits ? add_nbits(m, c) : add_dequantized(m, c);
    m.output("y");
    compile_file("m.onnx", m.proto.SerializeAsString(), targets);
  }

  bool reads_packed() const {
    for (const PlacementRow& row : report_.placement) {
      if (std::ranges::count(row.operators, "qnn.dense_blocks") > 0) return true;
    }
    return false;
  }
};

class EachForm : public BlockProducts, public ::testing::WithParamInterface<Case> {};

TEST_P(EachForm, OfFewRows) {
  compile_case(GetParam(), 3, {"cpu"});
  EXPECT_TRUE(reads_packed());
  expect_right(std::map<std::string, std::int64_t>{});
}

// With back ends the branch of many rows is theirs.
TEST_P(EachForm, OfOpenRows) {
  for (const auto& targets :
       {std::vector<std::string>{"cpu"}, std::vector<std::string>{"cpu", "onednn", "blas"}}) {
    compile_case(GetParam(), 0, targets);
    EXPECT_TRUE(reads_packed());
    for (const std::int64_t n : {1, 3, 8, 33, 70}) expect_right({{"n", n}});
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EachForm,
    ::testing::Values(Case{"bits4", Form::kMatMulNBits, 4, 32, 256, 73},
                      Case{"zero_points", Form::kMatMulNBits, 4, 16, 1000, 21, true, true},
                      Case{"bits8", Form::kMatMulNBits, 8, 32, 530, 35, true},
                      Case{"bits2", Form::kMatMulNBits, 2, 64, 1000, 18, false, true},
                      Case{"one_block", Form::kMatMulNBits, 4, 1024, 600, 33},
                      Case{"int4_rows", Form::kRows, 4, 32, 1100, 17, true},
                      Case{"int8_rows", Form::kRows, 8, 16, 640, 33},
                      Case{"int4_columns", Form::kColumns, 4, 16, 1001, 19, true},
                      Case{"int8_columns", Form::kColumns, 8, 32, 512, 36, true}),
    [](const auto& info) { return std::string(info.param.name); });

// Neither floats nor, of int4, bytes, of which the weights alone would take 1 MB: half a byte a
// weight, a scale for each block, and the program, which sanitizers make larger.
TEST_F(BlockProducts, AreStoredAsSmallAsTheModelHasThem) {
  for (const Form form : {Form::kMatMulNBits, Form::kRows, Form::kColumns}) {
    for (const std::int64_t rows : {1, 0}) {
      compile_case({"large", form, 4, 64, 1024, 1024}, rows, {"cpu"});
      const auto size = std::filesystem::file_size(options_.output);
      EXPECT_LT(size, 1 << 20) << static_cast<int>(form);
    }
  }
}

TEST_F(BlockProducts, OfManyRowsAreUnpackedOnce) {
  compile_case({"many", Form::kMatMulNBits, 4, 32, 256, 73}, 70, {"cpu"});
  EXPECT_FALSE(reads_packed());
  expect_right(std::map<std::string, std::int64_t>{});
}

// A model of float16, which rounds the weights that this computes in float32.
TEST_F(BlockProducts, OfHalfAreComputedInFloat) {
  for (const std::int64_t rows : {2, 0}) {
    compile_case({"half", Form::kMatMulNBits, 4, 32, 512, 70, true, true, Proto::FLOAT16}, rows,
                 {"cpu"});
    EXPECT_TRUE(reads_packed());
    const Module module = value_of(load_model(options_.model, {}));
    const std::vector<Tensor> x = {exec::random_input({"", kFloat16, {2, 2, 512}}, 1)};
    const auto wanted = ops::evaluate(module, module.functions.at("main"), x);
    const auto found = value_of(exported_->run(x));
    EXPECT_LT(ops::relative_difference(found.at(0), wanted.at(0)), 5e-3);
  }
}

// Blocks of columns.
TEST_F(BlockProducts, OthersStayAsTheyAre) {
  TestModel m(21);
  m.input("x", {1, 600});
  constant(m, "w", Proto::INT8, {600, 32}, bytes_of(600 * 32, 1));
  numbers(m, "scale", Proto::FLOAT, {600, 2});
  auto* n = m.node("DequantizeLinear", {"w", "scale"}, {"d"});
  import::set_int(n, "axis", 1);
  import::set_int(n, "block_size", 16);
  m.node("MatMul", {"x", "d"}, {"y"});
  m.output("y");
  compile_file("m.onnx", m.proto.SerializeAsString());
  EXPECT_FALSE(reads_packed());
  expect_right(std::map<std::string, std::int64_t>{});
}

}  // namespace
}  // namespace tessera::driver
