// SPDX-License-Identifier: Apache-2.0
// Folders, disks, compilers and libraries that are not what they should be, and the end of a
// process at any moment.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "bad_input.h"

namespace tessera::e2e {
namespace {

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

// There is nobody to tell, and the exit status still tells.
TEST_F(BadInput, StandardErrorIsFullOrClosed) {
  const std::string tessera = TESSERA_BUILD_DIR "/bin/tessera";
  for (const std::string to : {"2>/dev/full", "2>&-", "2>&- >&- <&-"}) {
    SCOPED_TRACE(to);
    const auto exit_status = [&](const std::string& arguments) {
      const ProcessResult ran = command_.run_program({"/bin/sh", "-c", tessera + arguments + to});
      return ran.signal == 0 ? ran.exit_status : -ran.signal;
    };
    EXPECT_EQ(exit_status(" compile none.onnx -o out/m.so "), 1);
    EXPECT_EQ(exit_status(" frobnicate "), 2);
    EXPECT_EQ(exit_status(" opt '" + command_.write("bad.relay", "def @main(") + "' "), 1);
    EXPECT_TRUE(names_in(command_.file("out")).empty());
    // What succeeds has a result that no message was written into.
    (void)exit_status(" compile '" + model("sound") + "' -o out/m.so ");
    EXPECT_TRUE(command_.run({"run", "out/m.so"}).ok());
    fs::remove(command_.file("out/m.so"));
  }
}

// A C++ compiler that begins, and does not end.
std::string endless_compiler(const Command& command) {
  const std::string script =
      command.write("c++", "#!/bin/sh\ncase \"$*\" in *-c*) echo $$ > '" + command.file("begun") +
                               "'; sleep 60;; esac\nexec c++ \"$@\"\n");
  fs::permissions(script, fs::perms::owner_all);
  return script;
}

TEST_F(BadInput, ACompilerThatDoesNotEnd) {
  command_.set("CXX", endless_compiler(command_)).set("TESSERA_CACHE_DIR", command_.file("cache"));
  expect_error(
      command_.run({"compile", model("sound"), "-o", "out/m.so", "--compiler-timeout", "1"}),
      "E0105",
      {"was stopped while it compiled `", "no end after 1 s", "help: give it more seconds"});
  expect_nothing_written();
}

// Neither the compiler nor what it works on stays.
TEST_F(BadInput, ACommandThatIsTerminated) {
  command_.set("CXX", endless_compiler(command_)).set("TESSERA_CACHE_DIR", command_.file("cache"));
  const std::string script = fmt::format(
      "'{}/bin/tessera' compile '{}' -o out/m.so & pid=$!\n"
      "while ! [ -s begun ]; do sleep 0.05; done\n"
      "kill $pid; wait $pid; status=$?\n"
      "for i in $(seq 200); do kill -0 $(cat begun) 2>/dev/null || break; sleep 0.05; done\n"
      "kill -0 $(cat begun) 2>/dev/null && echo still there\n"
      "exit $status",
      TESSERA_BUILD_DIR, model("sound"));
  const ProcessResult ran = command_.run_program({"/bin/sh", "-c", script});
  EXPECT_EQ(ran.exit_status, 128 + 15) << ran.err;
  EXPECT_EQ(ran.out.find("still there"), std::string::npos);
  expect_nothing_written();
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
    const ProcessResult result =
        command_.run_with_limit(fmt::format("-f {}", kilobytes), arguments);
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

TEST_F(BadInput, ACompilerThatMakesNothing) {
  const std::string script = command_.write(
      "cxx", "#!/bin/sh\ncase \"$*\" in\n *--version*) echo cxx 2;;\n *-dM*) g++ \"$@\";;\nesac\n");
  fs::permissions(script, fs::perms::all);
  command_.set("CXX", script);
  expect_error(compile(model("sound")), "E0105",
               {"cxx` could not compile", "wrote no object", "help: what it was given is kept in"});
}

TEST_F(BadInput, WhatWasSaidBeforeAFailureIsPrintedAndNothingTwice) {
  command_.set("CUDA_HOME", "/nonexistent").set("TESSERA_CACHE_DIR", command_.file("fresh"));
  const std::string file = model("sound");
  for (std::vector<std::string> line : {std::vector<std::string>{"compile", file, "-o", "out/m.so"},
                                        {"run", file},
                                        {"bench", file}}) {
    line.insert(line.end(), {"--target", "cuda -ptx", "--target", "cutlass"});
    const ProcessResult result = command_.run(line);
    expect_error(result, "E0104",
                 {"there is no `/nonexistent/bin/nvcc`", "warning[E0403]: target"});
    for (const char* once : {"E0104", "warning[E0403]", "install the CUDA toolkit"}) {
      EXPECT_EQ(result.err.find(once), result.err.rfind(once)) << result.err;
    }
  }
}

// ---- Killed ----

// On a file system whose files may have no name: on others one that is not complete has another
// name, which a kill leaves.
TEST_F(BadInput, KilledAtAnyMoment) {
  const int nameless = open(command_.file("out").c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (nameless < 0) GTEST_SKIP() << "this file system has no files without a name";
  close(nameless);
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
               "E0601", {"z.npy` is not an input of the model", "`x`", "help: "});
  fs::remove(command_.file("in/z.npy"));
  command_.write("in/x.npy", "\x93NUMPY garbage");
  expect_error(run(command_.file("in")), "E0106", {"x.npy", "help: "});
  command_.write("in/x.npy", "");
  expect_error(run(command_.file("in")), "E0102", {"x.npy", "help: "});
  expect_error(command_.run({"run", so, "--threads", "-3"}), "E0404", {"--threads -3", "help: "});
  expect_error(command_.run({"run", so, "--threads", "100000"}), "E0404",
               {"--threads 100000", "at most 1024 threads", "help: "});
}

// Names that no file can have, and folders that cannot be read.
TEST_F(BadInput, PathsThatCannotBe) {
  const std::string endless(300, 'n');
  for (const std::string& path : {endless, endless + ".so", endless + "/m.onnx"}) {
    for (const char* what : {"run", "bench", "inspect"}) {
      expect_error(command_.run({what, path}), "E0101", {endless, "help: "});
    }
  }
  expect_error(command_.run({"records", endless}), "E0101", {"no records in", "help: "});
  expect_error(
      command_.run({"compile", model("sound"), "-o", "out/m.so", "--records", "missing.db"}),
      "E0101", {"no records in `missing.db`", "help: check the path"});
  expect_error(command_.run({"run", library(), "--inputs", endless}), "E0101",
               {"no such folder", "help: "});
  expect_nothing_written();
}

// It is its content that makes a library.
TEST_F(BadInput, LibrariesOfOtherNames) {
  fs::copy_file(library(), command_.file("m.so.1"));
  const ProcessResult shown = command_.run({"inspect", "m.so.1"});
  EXPECT_TRUE(shown.ok()) << shown.err;
  EXPECT_NE(shown.out.find("library_bytes"), std::string::npos);
  EXPECT_TRUE(command_.run({"run", "m.so.1"}).ok());
  command_.write("text.so", "no library");
  for (const char* what : {"run", "inspect"}) {
    expect_error(command_.run({what, "text.so"}), "E0602", {"not a library", "help: "});
  }
}

TEST_F(BadInput, OptionsThatALibraryCannotTake) {
  const std::string so = library();
  const std::vector<std::vector<std::string>> options = {
      {"--precision", "fp16"}, {"--jobs", "1"}, {"--dim", "n=5"}, {"--backends", "blas"}};
  for (const auto& option : options) {
    expect_error(command_.run({"run", so, option[0], option[1]}), "E0404",
                 {"is a compiled library: " + option[0] + " has no effect", "help: "});
  }
  expect_error(command_.run({"inspect", so, "--dim", "n=5"}), "E0404",
               {"--dim has no effect", "help: "});
}

TEST_F(BadInput, NaNsAreCounted) {
  input("x", Tensor::of<float>({4, 8}, kFloat32, [] {
          std::vector<float> values(32, 1.0f);
          values[3] = values[7] = std::numeric_limits<float>::quiet_NaN();
          return values;
        }()));
  const ProcessResult ran = command_.run({"run", library(), "--inputs", "in"});
  ASSERT_TRUE(ran.ok()) << ran.err;
  EXPECT_NE(ran.out.find(" are NaN"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("mean nan"), std::string::npos) << ran.out;
}

// `y/1` and `y_1` have files of their own, as have the inputs.
TEST_F(BadInput, KeptWeights) {
  expect_error(command_.run({"compile", model("sound"), "-o", "out/m.so", "--keep-weights", "v"}),
               "E0404", {"--keep-weights v: the model's graph has no initializer `v`", "help: "});
  expect_nothing_written();
  const ProcessResult made =
      command_.run({"compile", model("sound"), "-o", "kept.so", "--keep-weights", "w"});
  ASSERT_TRUE(made.ok()) << made.err;
  const ProcessResult inspected = command_.run({"inspect", "kept.so"});
  EXPECT_NE(inspected.out.find("inputs:\n  x  float32  (4, 8)\n"), std::string::npos)
      << inspected.out;
  EXPECT_NE(inspected.out.find("kept_weights:\n  w  float32  (8, 16)\n"), std::string::npos)
      << inspected.out;
  // Every row of a product with zeros is the same, and so is the softmax of it.
  const std::string in =
      input("w", tensor_from_doubles({8, 16}, kFloat32, std::vector<double>(128, 0)));
  const ProcessResult ran = command_.run({"run", "kept.so", "--inputs", in});
  EXPECT_EQ(ran.out, "y: Tensor[(4, 16), float32]  mean 0.0625, largest magnitude 0.0625\n");
  input("w", tensor_from_doubles({16, 8}, kFloat32, std::vector<double>(128, 0)));
  expect_error(command_.run({"run", "kept.so", "--inputs", in}), "E0601",
               {"w.npy` has the shape (16, 8): input `w` takes (8, 16)", "help: "});
}

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

// Sizes that the values of an input ask for, in a library and in process: what no memory holds, and
// what a kernel cannot do.
TEST_F(BadInput, RunsThatFailSayWhyAndExplainIt) {
  command_.write("m.relay",
                 "#[version = \"0.0.5\"]\n"
                 "def @main(%x: Tensor[(1), float32], %s: Tensor[(1), int64]) {\n"
                 "  dyn.broadcast_to(%x, %s)\n}\n");
  ASSERT_TRUE(command_.run({"compile", "m.relay", "-o", "m.so"}).ok());
  const auto run = [&](const char* what, std::int64_t size) {
    input("s", Tensor::of<std::int64_t>({1}, kInt64, {size}));
    return command_.run({"run", what, "--inputs", "in"});
  };
  for (const char* what : {"m.so", "m.relay"}) {
    EXPECT_TRUE(run(what, 3).ok());
    expect_error(run(what, -1), "E0602", {"the run failed: ", "-1", "help: check the values"});
    expect_error(run(what, std::int64_t{1} << 45), "E0601",
                 {"the run failed: out of memory", "help: give smaller sizes"});
  }
  const ProcessResult explained = command_.run({"explain", "E0602"});
  EXPECT_NE(explained.out.find("a kernel of it failed in a run"), std::string::npos);
  EXPECT_NE(command_.run({"explain", "E0601"}).out.find("more memory than there is"),
            std::string::npos);
}

TEST_F(BadInput, ALibraryForAnotherCpu) {
  const std::string so = library();
  const ProcessResult flags = command_.run_program({"grep", "-c", "avx512f", "/proc/cpuinfo"});
  if (!flags.ok()) GTEST_SKIP() << "needs a CPU with AVX-512";
  command_.set("TESSERA_DISABLE_CPU_FEATURES", "avx512f");
  for (const char* what : {"run", "bench"}) {
    expect_error(
        command_.run({what, so}), "E0602",
        {"compiled for a CPU", "avx512f", "compile it with `--target \"cpu -mcpu=NAME\"`"});
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

}  // namespace
}  // namespace tessera::e2e
