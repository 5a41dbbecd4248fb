// SPDX-License-Identifier: Apache-2.0
// What users get wrong: each has a code, a place, a remedy and exit status 1, and leaves nothing
// half-written.
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "command.h"
#include "constants/npy.h"

namespace tessera::e2e {
namespace {

namespace fs = std::filesystem;

// Folder with the models of bad_models.py, made once a process.
const std::string& bad_models() {
  static const Command maker;
  static const std::string folder = [] {
    run_python({TESSERA_SOURCE_DIR "/tests/e2e/bad_models.py", maker.folder()});
    return maker.folder();
  }();
  return folder;
}

std::string model(const std::string& name) { return bad_models() + "/" + name + ".onnx"; }

// One error at least, and what each must say.
void expect_error(const ProcessResult& result, const std::string& code,
                  const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_status, 1) << result.outcome() << "\n" << result.err;
  EXPECT_TRUE(result.err.starts_with("error[" + code + "]: ")) << result.err;
  for (const std::string& part : parts) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << "\nis not in\n" << result.err;
  }
}

class BadInput : public ::testing::Test {
 protected:
  BadInput() {
    command_.share_cache();
    fs::create_directories(command_.file("out"));
  }

  void expect_nothing_written() const {
    EXPECT_EQ(names_in(command_.file("out")), std::vector<std::string>{});
    EXPECT_EQ(names_in(command_.file("tmp")), std::vector<std::string>{});
  }
  ProcessResult compile(const std::string& path) {
    return command_.run({"compile", path, "-o", "out/m.so"});
  }
  // The sound model as a library.
  std::string library() {
    const ProcessResult result =
        command_.run({"compile", model("sound"), "-o", "sound.so", "--partition", "none"});
    EXPECT_TRUE(result.ok()) << result.err;
    return command_.file("sound.so");
  }
  // A folder with input `name` of this type.
  std::string input(const std::string& name, const Tensor& tensor) {
    fs::create_directories(command_.file("in"));
    EXPECT_TRUE(write_npy(command_.file("in/" + name + ".npy"), tensor));
    return command_.file("in");
  }

  Command command_;
};

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
    {"output_shape", "E0203", {"node `y`", "the shape (7)", "Tensor[(5)", "help: correct"}},
    {"output_rank", "E0203", {"node `y`", "the shape (5, 1)", "Tensor[(5)", "help: correct"}},
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
    {"cast_to_99", "E0208", {"node `the/node`", "`to` is 99, which is no data type", "help: "}},
    {"attribute_behind_unknown",
     "E0302",
     {"node `first`", "`NoSuch`", "node `act`", "`bogus`", "node `soft`", "`axis` must be INT"}},
    {"weight_bytes", "E0305", {"tensor `w`", "8 bytes", "16", "help: write the model again"}},
};

INSTANTIATE_TEST_SUITE_P(All, BadModel, ::testing::ValuesIn(kModelFaults),
                         [](const auto& info) { return std::string(info.param.model); });

TEST_F(BadInput, AFolderIsNoModel) {
  expect_error(compile(bad_models()), "E0101", {"is a folder", "help: name the file"});
  expect_nothing_written();
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

// ---- Output ----

TEST_F(BadInput, OutputFolderThatIsNotThere) {
  expect_error(command_.run({"compile", model("sound"), "-o", "no/where/m.so"}), "E0103",
               {"cannot write `no/where/m.so`", "No such file", "help: "});
  EXPECT_FALSE(fs::exists(command_.file("no")));
}

TEST_F(BadInput, OutputThatIsAFolder) {
  expect_error(command_.run({"compile", model("sound"), "-o", "out"}), "E0103",
               {"`out`", "Is a directory", "help: "});
  expect_nothing_written();
}

TEST_F(BadInput, OutputBelowAFile) {
  command_.write("file", "x");
  expect_error(command_.run({"compile", model("sound"), "-o", "file/m.so"}), "E0103",
               {"Not a directory", "help: "});
}

TEST_F(BadInput, OutputsOfARunCannotBeWritten) {
  command_.write("file", "x");
  expect_error(command_.run({"run", library(), "--outputs", "file/out"}), "E0103",
               {"file/out", "help: "});
}

TEST_F(BadInput, DiskFull) {
  expect_error(command_.run({"compile", model("sound"), "-o", "/dev/full"}), "E0103",
               {"No space left on device", "help: make room"});
  EXPECT_EQ(names_in(command_.file("tmp")), std::vector<std::string>{});
}

// What was there stays, whichever file is the one that no longer fits.
TEST_F(BadInput, FilesMayNotGrow) {
  command_.write("out/m.so", "the old one");
  const std::vector<std::string> arguments = {"compile", model("large_weight"), "-o", "out/m.so"};
  for (const int kilobytes : {0, 1, 16, 64, 256, 1024, 4000}) {
    command_.set("TESSERA_CACHE_DIR", command_.file("cache" + std::to_string(kilobytes)));
    const ProcessResult result = command_.run_with_file_limit(kilobytes, arguments);
    EXPECT_EQ(result.exit_status, 1) << kilobytes << ": " << result.outcome() << result.err;
    EXPECT_TRUE(result.err.starts_with("error[E01")) << kilobytes << ": " << result.err;
    EXPECT_NE(result.err.find("help: "), std::string::npos) << kilobytes << ": " << result.err;
    EXPECT_EQ(*read_file(command_.file("out/m.so")), "the old one") << kilobytes;
    EXPECT_EQ(names_in(command_.file("out")), std::vector<std::string>{"m.so"}) << kilobytes;
    // The cache that the limit cut short is good for the next one.
    const ProcessResult again = command_.run({"compile", model("large_weight"), "-o", "good.so"});
    EXPECT_TRUE(again.ok()) << again.err;
  }
  EXPECT_TRUE(command_.run({"run", "good.so"}).ok());
}

TEST_F(BadInput, NoFolderForTemporaryFiles) {
  command_.set("TMPDIR", "/no/such/folder").set("TESSERA_CACHE_DIR", command_.file("fresh"));
  expect_error(compile(model("sound")), "E0103", {"/no/such/folder", "help: ", "TMPDIR"});
  expect_nothing_written();
}

// ---- The compiler ----

TEST_F(BadInput, NoCompiler) {
  command_.set("PATH", "/nowhere");
  expect_error(compile(model("sound")), "E0104", {"no C++ compiler", "help: install g++", "CXX"});
  command_.unset("PATH").set("CXX", "no-such-compiler");
  expect_error(compile(model("sound")), "E0104", {"`no-such-compiler`", "help: "});
  command_.set("CXX", "false").set("PATH", "/usr/bin:/bin");
  expect_error(compile(model("sound")), "E0104", {"false` does not run", "help: "});
  expect_nothing_written();
}

TEST_F(BadInput, ACompilerThatFails) {
  const std::string script =
      command_.write("cxx",
                     "#!/bin/sh\ncase \"$*\" in\n *--version*) echo cxx 1;;\n *-dM*) g++ \"$@\";;\n"
                     " *) echo 'k.cc:1:2: error: out of registers' >&2; exit 1;;\nesac\n");
  fs::permissions(script, fs::perms::all);
  command_.set("CXX", script);
  const ProcessResult result = compile(model("sound"));
  expect_error(result, "E0105", {"out of registers", "help: what it was given is kept in"});
  EXPECT_EQ(names_in(command_.file("out")), std::vector<std::string>{});
  EXPECT_FALSE(names_in(command_.file("tmp")).empty());  // the sources, as the message says
}

// ---- Killed ----

TEST_F(BadInput, KilledAtAnyMoment) {
  command_.set("TESSERA_CACHE_DIR", command_.file("cache"));
  const std::vector<std::string> arguments = {"compile", model("large_weight"), "-o", "out/m.so"};
  int killed = 0;
  for (double seconds = 0.01; seconds < 3; seconds *= 1.6) {
    const ProcessResult result = command_.run_for(seconds, arguments);
    killed += result.timed_out ? 1 : 0;
    for (const std::string& name : names_in(command_.file("out"))) {
      EXPECT_EQ(name, "m.so") << "after " << seconds;
      EXPECT_TRUE(command_.run({"run", "out/m.so"}).ok()) << "after " << seconds;
    }
    if (!result.timed_out) break;
    fs::remove(command_.file("out/m.so"));
  }
  EXPECT_GT(killed, 0);
  const ProcessResult next = command_.run(arguments);
  EXPECT_TRUE(next.ok()) << next.err;
  const auto with_that_cache = read_file(command_.file("out/m.so"));
  command_.set("TESSERA_CACHE_DIR", command_.file("fresh"));
  EXPECT_TRUE(command_.run(arguments).ok());
  EXPECT_TRUE(*with_that_cache == *read_file(command_.file("out/m.so")));
}

TEST_F(BadInput, DamagedCacheEntriesAreMadeAgain) {
  command_.set("TESSERA_CACHE_DIR", command_.file("cache"));
  ASSERT_TRUE(compile(model("sound")).ok());
  const auto before = read_file(command_.file("out/m.so"));
  int damaged = 0;
  for (const auto& entry : fs::recursive_directory_iterator(command_.file("cache"))) {
    if (!entry.is_regular_file()) continue;
    fs::resize_file(entry, entry.file_size() / 2);
    ++damaged;
  }
  EXPECT_GT(damaged, 0);
  const ProcessResult again = compile(model("sound"));
  EXPECT_TRUE(again.ok()) << again.err;
  EXPECT_TRUE(*before == *read_file(command_.file("out/m.so")));
}

// ---- Running ----

TEST_F(BadInput, InputsOfARun) {
  const std::string so = library();
  const std::vector<float> values(64);
  const auto run = [&](const std::string& in) { return command_.run({"run", so, "--inputs", in}); };
  expect_error(run("nowhere"), "E0101", {"no such folder", "help: "});
  expect_error(run(input("x", Tensor::of<float>({8, 8}, kFloat32, values))), "E0601",
               {"in/x.npy`", "input `x`", "(8, 8)", "(4, 8)", "help: "});
  expect_error(run(input("x", Tensor::of<float>({2, 2, 16}, kFloat32, values))), "E0601",
               {"in/x.npy`", "input `x`", "(2, 2, 16)", "(4, 8)", "help: "});
  expect_error(
      run(input("x", Tensor::of<std::int64_t>({4, 8}, kInt64, std::vector<std::int64_t>(32)))),
      "E0601", {"in/x.npy`", "input `x`", "int64", "float32", "help: "});
  expect_error(run(input("z", Tensor::of<float>({4, 8}, kFloat32, std::vector<float>(32)))),
               "E0601", {"z.npy` is no input of the model", "`x`", "help: "});
  fs::remove(command_.file("in/z.npy"));
  command_.write("in/x.npy", "\x93NUMPY garbage");
  expect_error(run(command_.file("in")), "E0106", {"x.npy", "help: "});
  command_.write("in/x.npy", "");
  expect_error(run(command_.file("in")), "E0102", {"x.npy", "help: "});
  expect_error(command_.run({"run", so, "--threads", "-3"}), "E0404", {"--threads -3", "help: "});
}

// `y/1` and `y_1` have files of their own, as have the inputs.
TEST_F(BadInput, NamesThatWouldShareAFile) {
  input("a%2Fb", Tensor::of<float>({2}, kFloat32, {0, 0}));
  input("a_b", Tensor::of<float>({2}, kFloat32, {-3, 3}));
  const ProcessResult ran =
      command_.run({"run", model("colliding_names"), "--inputs", "in", "--outputs", "out"});
  ASSERT_TRUE(ran.ok()) << ran.err;
  EXPECT_EQ(names_in(command_.file("out")), (std::vector<std::string>{"y%2F1.npy", "y_1.npy"}));
  EXPECT_EQ(element_as_double(*read_npy(command_.file("out/y%2F1.npy")), 0), 1);
  EXPECT_EQ(element_as_double(*read_npy(command_.file("out/y_1.npy")), 0), 3);
}

TEST_F(BadInput, ALibraryForAnotherCpu) {
  const std::string so = library();
  const ProcessResult flags = command_.run_program({"grep", "-c", "avx512f", "/proc/cpuinfo"});
  if (!flags.ok()) GTEST_SKIP() << "needs a CPU with AVX-512";
  command_.set("TESSERA_DISABLE_CPU_FEATURES", "avx512f");
  for (const char* what : {"run", "bench"}) {
    expect_error(command_.run({what, so}), "E0602",
                 {"compiled for a CPU", "avx512f", "compile it with a `-mcpu`"});
  }
  EXPECT_TRUE(command_.run({"inspect", so}).ok());
}

TEST_F(BadInput, DamagedAndForeignLibraries) {
  const std::string whole = *read_file(library());
  for (const std::size_t bytes :
       {whole.size() - 1, whole.size() / 2, std::size_t{4096}, std::size_t{8}}) {
    command_.write("cut.so", whole.substr(0, bytes));
    for (const char* what : {"run", "bench", "inspect"}) {
      expect_error(command_.run({what, "cut.so"}), "E0602", {"cut.so", "help: "});
    }
  }
  std::string damaged = whole;
  damaged[damaged.find("\"inputs\"")] = '?';  // of the metadata
  command_.write("damaged.so", damaged);
  expect_error(command_.run({"inspect", "damaged.so"}), "E0602", {"damaged.so", "help: copy"});
  const ProcessResult compiled = command_.run_program(
      {"g++", "-shared", "-fPIC", "-x", "c++", "/dev/null", "-o", command_.file("foreign.so")});
  ASSERT_TRUE(compiled.ok()) << compiled.err;
  for (const char* what : {"run", "inspect"}) {
    expect_error(command_.run({what, "foreign.so"}), "E0602", {"foreign.so", "help: "});
  }
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
      {"inspect"},
  };
  for (const auto& line : lines) {
    const ProcessResult result = command_.run(line);
    EXPECT_EQ(result.exit_status, 2) << result.err;
    EXPECT_FALSE(result.err.empty());
  }
  expect_nothing_written();
}

TEST_F(BadInput, OptionsWithValuesThatCannotBe) {
  const auto compile_with = [&](const std::string& option, const std::string& value) {
    return command_.run(
        {"compile", model("symbolic"), "-o", "out/m.so", "--dim", "batch=3", option, value});
  };
  expect_error(compile_with("--dim", "batch"), "E0404", {"batch", "help: "});
  expect_error(compile_with("--dim", "batch=-1"), "E0404", {"batch=-1", "help: "});
  expect_error(compile_with("--dim", "other=1"), "E0404", {"other", "help: "});
  expect_error(compile_with("--backends", "nothing"), "E0403", {"`nothing`", "help: "});
  expect_error(compile_with("--target", "cpu -mcpu=pentium9000"), "E0403", {"pentium9000"});
  expect_nothing_written();
  EXPECT_TRUE(compile_with("--jobs", "1").ok());
}

TEST_F(BadInput, TargetsOfOptThatDoNotGoTogether) {
  command_.write("m.relay", "#[version = \"0.0.5\"]\ndef @main(%x: float32) {\n  exp(%x)\n}\n");
  const auto opt_with = [&](const std::string& first, const std::string& second) {
    return command_.run(
        {"opt", "m.relay", "-o", "out/m.relay", "--target", first, "--target", second});
  };
  expect_error(opt_with("cuda", "cuda -arch=sm_80"), "E0403", {"`cuda`", "more than once"});
  expect_error(opt_with("cutlass", "cuda"), "E0403", {"`cuda` cannot follow `cutlass`", "help: "});
  expect_error(opt_with("cutlass", "cublas"), "E0403", {"help: put `cuda` in front"});
  expect_nothing_written();
  EXPECT_TRUE(opt_with("cuda", "cutlass").ok());
}

}  // namespace
}  // namespace tessera::e2e
