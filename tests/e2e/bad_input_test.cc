// SPDX-License-Identifier: Apache-2.0
// Models and uses of the command that are wrong.
#include "bad_input.h"

namespace tessera::e2e {
namespace {

// ---- Models ----

struct ModelFault {
  const char* model;
  const char* code;
  std::vector<std::string> parts;  // place, finding, remedy
};

void PrintTo(const ModelFault& fault, std::ostream* out) { *out << fault.model; }

class BadModel : public BadInput, public ::testing::WithParamInterface<ModelFault> {};

TEST_P(BadModel, IsRefused) {
  expect_error(compile(model(GetParam().model)), GetParam().code, GetParam().parts);
  expect_nothing_written();
}

const std::vector<ModelFault> kModelFaults = {
    {"missing", "E0101", {"missing.onnx` does not exist", "help: check the path"}},
    {"empty", "E0102", {"empty.onnx` is empty", "help: write the model again"}},
    {"truncated",
     "E0301",
     {"truncated.onnx` is not an ONNX model", "truncated", "help: check how"}},
    {"text", "E0301", {"text.onnx` is not an ONNX model", "help: check how"}},
    {"picture", "E0301", {"picture.onnx` is not an ONNX model", "help: check how"}},
    {"external_missing", "E0303", {"node `w`", "none.bin`", "help: copy it beside the model"}},
    {"external_short", "E0303", {"node `w`", "16 bytes", "has 12", "help: the file is truncated"}},
    {"external_outside", "E0303", {"node `w`", "leads out of the model's folder", "help: copy"}},
    {"unknown_operators",
     "E0302",
     {"node `first`", "`NoSuch`", "opset 17", "node `second`", "`NorThis`", "help: export"}},
    {"unknown_attribute", "E0302", {"node `the/node`", "`Relu`", "`slope`", "help: export"}},
    {"attribute_type", "E0208", {"node `the/node`", "`axis` must be INT", "help: correct"}},
    {"attribute_range", "E0208", {"node `the/node`", "axis 7", "help: correct"}},
    {"attribute_missing",
     "E0208",
     {"node `the/node`", "`kernel_shape` is missing", "help: correct"}},
    {"shapes", "E0203", {"node `the/node`", "3 vs 4", "help: correct"}},
    {"dtypes", "E0204", {"node `the/node`", "float32 vs int64", "help: correct"}},
    {"cyclic", "E0304", {"node `one`", "cyclic or not sorted", "help: run onnx.checker"}},
    {"unsorted", "E0304", {"node `late`", "cyclic or not sorted", "help: run onnx.checker"}},
    {"undefined_output", "E0304", {"`z` is not defined", "help: run onnx.checker"}},
    {"negative_dimension", "E0213", {"input `x`", "negative size -2", "help: give the dimension"}},
    {"negative_weight", "E0213", {"tensor `w`", "negative size -2", "help: write the model again"}},
    {"negative_result", "E0203", {"node `the/node`", "window reaches over 5", "help: correct"}},
    {"overflow", "E0213", {"input `x`", "overflows 64 bits", "help: check the sizes"}},
    {"overflow_of_bytes", "E0213", {"input `x`", "overflows 64 bits", "help: check the sizes"}},
    {"overflow_of_result", "E0213", {"node `the/node`", "overflows 64 bits", "help: check"}},
    {"newer_opset", "E0302", {"opset 99", "help: export it with that opset"}},
    {"constant_of_negative", "E0213", {"node `the/node`", "`full` would be", "help: correct"}},
    {"expand_to_negative", "E0213", {"node `the/node`", "sizes are not negative", "help: correct"}},
    {"tile_overflow", "E0213", {"node `the/node`", "`tile` would be", "help: correct"}},
    {"output_type", "E0204", {"node `y`", "declared as INT64", "float32", "help: correct"}},
    {"where_float", "E0204", {"node `the/node`", "condition", "float32, not bool", "help: "}},
    {"input_twice", "E0304", {"input `x` is declared twice", "help: give each input"}},
    {"no_opset", "E0304", {"does not say which opset", "help: export"}},
    {"opset_zero", "E0304", {"of opset 0", "help: export"}},
    {"resize_zero", "E0208", {"node `the/node`", "scale of dimension 2 is 0", "help: correct"}},
    {"resize_nan", "E0208", {"node `the/node`", "dimension 2 is nan", "help: correct"}},
    {"resize_huge", "E0208", {"node `the/node`", "dimension 2 is 1", "help: correct"}},
    {"resize_sizes", "E0213", {"node `the/node`", "the size -4", "help: correct"}},
    {"resize_few", "E0208", {"node `the/node`", "2 scales for 4 axes", "help: correct"}},
    {"one_hot_negative", "E0208", {"node `the/node`", "depth is -9", "help: correct"}},
    {"cast_to_99", "E0208", {"node `the/node`", "`to` is 99, which is not a data type", "help: "}},
    {"attribute_after_unknown",
     "E0302",
     {"node `first`", "`NoSuch`", "node `act`", "`bogus`", "node `soft`", "`axis` must be INT"}},
    {"weight_bytes", "E0305", {"tensor `w`", "8 bytes", "16", "help: write the model again"}},
};

INSTANTIATE_TEST_SUITE_P(All, BadModel, ::testing::ValuesIn(kModelFaults),
                         [](const auto& info) { return std::string(info.param.model); });

TEST_F(BadInput, DeclaredShapesOfOutputsAreOnlyWarnedOf) {
  for (const auto& [name, shape] : {std::pair{"output_shape", "(7)"}, {"output_rank", "(5, 1)"}}) {
    const ProcessResult result = compile(model(name));
    EXPECT_TRUE(result.ok()) << result.err;
    for (const std::string part : {"warning[E0203]", "node `y`", shape, "Tensor[(5)", "help: "}) {
      EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    }
  }
}

TEST_F(BadInput, AFolderIsNoModel) {
  expect_error(compile(bad_models()), "E0101", {"is a folder", "help: name the file"});
  expect_nothing_written();
}

// Texts that are well formed, and no models.
TEST_F(BadInput, TextsThatAreNoModels) {
  const std::pair<const char*, const char*> texts[] = {
      {"def @f(%x: float32) { %x }", "has no function `@main`"},
      {"def @main(%x: float32, Primitive=1) { exp(%x) }", "the attribute `Primitive`"},
      {"def @main(%x: float32, Compiler=\"c\") { exp(%x) }", "the attribute `Compiler`"},
      {"def @main(%f: fn (float32) -> float32) { %f(1f) }", "a parameter of `@main` is a function"},
      {"def @main(%x: float32) { fn (%y: float32) { %y } }", "`@main` gives a function"},
      {"def @main(%x: Tensor[(3), int4]) { add(%x, %x) }", "values of type Tensor[(3), int4]"},
      {"def @main(%x: Tensor[(3), float32x4]) { %x }", "values of type Tensor[(3), float32x4]"},
      {"def @main(%x: Tensor[(3), handle]) { %x }", "values of type Tensor[(3), handle]"},
      {"def @main(%x: float32) { cast(cast(%x, dtype=\"int4\"), dtype=\"float32\") }", "type int4"},
      {"def @main(%x: float32) {\n"
       "  let %f = fn (%y: float32) { %y };\n"
       "  %1 = if (less(%x, 0f)) { %f } else { fn (%z: float32) { exp(%z) } };\n"
       "  %1(%x)\n}",
       "the branches of an `if` give functions"},
  };
  for (const auto& [text, finding] : texts) {
    ASSERT_TRUE(
        write_atomically(command_.file("m.relay"), "#[version = \"0.0.5\"]\n" + std::string(text)));
    for (const char* command : {"compile", "run", "inspect"}) {
      std::vector<std::string> words = {command, "m.relay"};
      if (words[0] == "compile") words.insert(words.end(), {"-o", "out/m.so"});
      const ProcessResult result = command_.run(words);
      EXPECT_EQ(result.exit_status, 1) << text << "\n" << result.outcome() << "\n" << result.err;
      EXPECT_NE(result.err.find(finding), std::string::npos) << result.err;
      EXPECT_NE(result.err.find("help: "), std::string::npos) << result.err;
    }
    expect_nothing_written();
  }
}

TEST_F(BadInput, TheOtherCommandsSayTheSame) {
  expect_error(command_.run({"run", model("truncated")}), "E0301", {"truncated.onnx"});
  expect_error(command_.run({"bench", model("cyclic")}), "E0304", {"node `one`"});
  expect_error(command_.run({"inspect", model("empty")}), "E0102", {"empty.onnx"});
  expect_error(command_.run({"run", model("missing")}), "E0101", {"missing.onnx", "help: "});
  expect_error(command_.run({"inspect", "missing.so"}), "E0101", {"missing.so", "help: "});
}

// Sizes of zero are not wrong.
TEST_F(BadInput, ZeroSizesCompileAndRun) {
  for (const char* name : {"zero_size", "zero_reduction"}) {
    for (const char* partition : {"none", "greedy"}) {
      const ProcessResult compiled =
          command_.run({"compile", model(name), "-o", "zero.so", "--partition", partition});
      ASSERT_TRUE(compiled.ok()) << name << compiled.err;
      for (const std::string& what : {command_.file("zero.so"), model(name)}) {
        const ProcessResult ran = command_.run({"run", what, "--outputs", "zero"});
        ASSERT_TRUE(ran.ok()) << name << ran.err;
        const auto y = read_npy(command_.file("zero/y.npy"));
        ASSERT_TRUE(y);
        const bool empty = std::string(name) == "zero_size";
        EXPECT_EQ(y->shape,
                  empty ? (std::vector<std::int64_t>{0, 2}) : std::vector<std::int64_t>{});
        if (!empty) {
          EXPECT_EQ(element_as_double(*y, 0), 0);
        }
      }
    }
  }
}

// Deeper than protobuf's own limit.
TEST_F(BadInput, GraphsWithinEachOtherAreRead) {
  const ProcessResult ran = command_.run({"run", model("nested_ifs")});
  EXPECT_TRUE(ran.ok()) << ran.err;
}

// Divisors of zero and -1, in the library, in process and folded.
TEST_F(BadInput, IntegerDivisionNeverTraps) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const auto tensor = [](std::vector<std::int64_t> values) {
    return Tensor::of<std::int64_t>({4}, kInt64, values);
  };
  input("x", tensor({kMin, kMin, 7, -7}));
  input("d", tensor({0, -1, 0, 2}));
  const ProcessResult compiled =
      command_.run({"compile", model("division"), "-o", "division.so", "--verify"});
  ASSERT_TRUE(compiled.ok()) << compiled.err;
  for (const std::string& what : {command_.file("division.so"), model("division")}) {
    const ProcessResult ran = command_.run({"run", what, "--inputs", "in", "--outputs", "out"});
    ASSERT_TRUE(ran.ok()) << ran.outcome() << ran.err;
    EXPECT_EQ(*read_npy(command_.file("out/q.npy")), tensor({0, kMin, 0, -3}));
    EXPECT_EQ(*read_npy(command_.file("out/r.npy")), tensor({0, 0, 0, 1}));
    EXPECT_EQ(*read_npy(command_.file("out/c.npy")), tensor({0, kMin, 3, 0}));
  }
}

TEST_F(BadInput, MoreMemoryThanThereIs) {
  const ProcessResult result = command_.run({"run", model("huge")});
  expect_error(result, "E0601", {"not enough memory", "help: "});
}

// ---- Wrong use ----

TEST_F(BadInput, WrongUseIsStatusTwo) {
  const std::vector<std::vector<std::string>> lines = {
      {},
      {"translate", model("sound")},
      {"compile", model("sound")},
      {"compile", model("sound"), "-o", "out/m.so", "--partition", "some"},
      {"run"},
      {"bench", model("sound"), "--seconds", "many"},
      {"bench", model("sound"), "--seconds", "nan"},
      {"inspect"},
      {"inspect", "--operators", "--json"},
      {"inspect", model("sound"), "--operators"},
  };
  for (const auto& line : lines) {
    const ProcessResult result = command_.run(line);
    EXPECT_EQ(result.exit_status, 2) << result.err;
    EXPECT_FALSE(result.err.empty());
  }
  expect_nothing_written();
}

TEST_F(BadInput, NumbersOutOfRange) {
  const auto said = [&](const std::string& option, const std::string& value) {
    return command_.run({"compile", model("sound"), "-o", "out/m.so", "--tune", option, value}).err;
  };
  for (const auto& [option, value, range] :
       {std::tuple("--budget", "0", "not in range 1.000000 to 1000000.000000"),
        std::tuple("--jobs", "-1", "not in range 0 to 1024"),
        std::tuple("--candidates", "0", "not in range 1 to 1000")}) {
    EXPECT_NE(said(option, value).find(range), std::string::npos) << said(option, value);
  }
}

TEST_F(BadInput, OptionsWithValuesThatCannotBe) {
  const auto compile_with = [&](const std::string& option, const std::string& value) {
    return command_.run(
        {"compile", model("symbolic"), "-o", "out/m.so", "--dim", "batch=3", option, value});
  };
  expect_error(compile_with("--dim", "batch"), "E0404", {"batch", "help: "});
  expect_error(compile_with("--dim", "batch=4"), "E0404", {"`batch` is given more than once"});
  expect_error(compile_with("--dim", "n=5..1"), "E0404", {"maximum 1 is below the minimum 5"});
  expect_error(compile_with("--target", "cpu -threads=-5"), "E0403", {"must be 0 to 10000"});
  expect_error(compile_with("--target", "cpu -opt=-1"), "E0403", {"must be 0, 1, 2 or 3"});
  expect_error(compile_with("--dim", "batch=-1"), "E0404", {"batch=-1", "help: "});
  expect_error(compile_with("--dim", "other=1"), "E0404", {"other", "help: "});
  expect_error(compile_with("--backends", "nothing"), "E0403", {"`nothing`", "help: "});
  expect_error(compile_with("--target", "cpu -mcpu=pentium9000"), "E0403", {"pentium9000"});
  expect_nothing_written();
  EXPECT_TRUE(compile_with("--jobs", "1").ok());
}

TEST_F(BadInput, KindsOfTargetsThatThereAreNot) {
  const ProcessResult bogus =
      command_.run({"compile", model("sound"), "-o", "out/m.so", "--target", "bogus"});
  expect_error(bogus, "E0403",
               {"this tessera has no back end `bogus`", "help: use one of", "`cpu`, `cuda`",
                "`onednn`", "`tensorrt`"});
  expect_error(command_.run({"run", model("sound"), "--target", "bogus"}), "E0403", {"`bogus`"});
  expect_nothing_written();
}

// As `compile` says them.
TEST_F(BadInput, RunAndBenchOfAModelSayItsWarnings) {
  command_.write("m.relay",
                 "#[version = \"0.0.5\"]\n"
                 "def @f(%x: Tensor[(2), float32], Compiler=\"vitis\", Primitive=1,\n"
                 "       global_symbol=\"f\") -> Tensor[(2), float32] { exp(%x) }\n"
                 "def @main(%x: Tensor[(2), float32]) { @f(%x) }\n");
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"compile", "m.relay", "-o", "m.so"},
        {"run", "m.relay"},
        {"bench", "m.relay", "--seconds", "0"}}) {
    const ProcessResult result = command_.run(line);
    EXPECT_TRUE(result.ok()) << result.err;
    EXPECT_NE(result.err.find("warning[E0502]"), std::string::npos) << line[0] << result.err;
    EXPECT_NE(result.err.find("`vitis`"), std::string::npos) << line[0] << result.err;
    EXPECT_EQ(result.out.find("load 0 us"), std::string::npos) << result.out;
  }
}

// The README's way of marking by hand, and the names that it takes.
TEST_F(BadInput, PatternsOfOneName) {
  command_.write("m.relay",
                 "#[version = \"0.0.5\"]\n"
                 "def @main(%x: Tensor[(2, 8), float32]) {\n"
                 "  %0 = sigmoid(%x);\n  multiply(%x, %0)\n}\n");
  const std::string passes =
      "merge-composite{table=my},annotate-target{targets=[ccompiler]},partition-graph";
  const auto opt_with = [&](const std::string& prefix) {
    command_.write("my.patterns",
                   "table my { composite \"" + prefix + ".gated\" = multiply(*, sigmoid(*)); }");
    return command_.run(
        {"opt", "m.relay", "--patterns", "my.patterns", "--passes", passes, "-o", "placed.relay"});
  };
  const ProcessResult foreign = opt_with("my");
  EXPECT_TRUE(foreign.ok());
  EXPECT_NE(foreign.err.find("warning[E0402]: pass `annotate-target`: no call is for ccompiler"),
            std::string::npos)
      << foreign.err;
  const ProcessResult own = opt_with("ccompiler");
  EXPECT_TRUE(own.ok());
  EXPECT_EQ(own.err, "");
  EXPECT_NE(read_file(command_.file("placed.relay"))->find("Compiler=\"ccompiler\""),
            std::string::npos);
  const ProcessResult compiled = command_.run({"compile", "placed.relay", "-o", "m.so"});
  EXPECT_TRUE(compiled.ok()) << compiled.err;
  EXPECT_NE(compiled.out.find("ccompiler"), std::string::npos) << compiled.out;
}

TEST_F(BadInput, TargetsOfOptThatDoNotGoTogether) {
  command_.write("m.relay", "#[version = \"0.0.5\"]\ndef @main(%x: float32) {\n  exp(%x)\n}\n");
  const auto opt_with = [&](const std::string& first, const std::string& second) {
    return command_.run(
        {"opt", "m.relay", "-o", "out/m.relay", "--target", first, "--target", second});
  };
  expect_error(opt_with("cuda", "cuda -arch=sm_80"), "E0403", {"`cuda`", "more than once"});
  expect_error(opt_with("cutlass", "cuda"), "E0403", {"`cuda` cannot follow `cutlass`", "help: "});
  expect_error(opt_with("cutlass", "cublas"), "E0403", {"help: put `cuda` first"});
  expect_nothing_written();
  EXPECT_TRUE(opt_with("cuda", "cutlass").ok());
}

}  // namespace
}  // namespace tessera::e2e
