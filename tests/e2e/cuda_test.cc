// SPDX-License-Identifier: Apache-2.0
// Libraries for a GPU, made and looked into on a machine without one. What they compute is tested
// on a device by tests/conformance.
#include <filesystem>
#include <optional>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "command.h"
#include "link/cuda_compiler.h"
#include "small_product.h"
#include "support/testing/requirement.h"

namespace tessera::e2e {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDeviceModel = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(64, 256), float32], %w: Tensor[(96, 256), float32], %b: Tensor[(96), float32]) {
  %0 = nn.dense(%x, %w, units=96);
  %1 = add(%0, %b);
  %2 = nn.softmax(%1);
  (%2, transpose(%2, axes=[1, 0]))
})";

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!tessera::testing::is_there("nvcc", link::find_cuda_compiler().has_value())) {
      GTEST_SKIP() << "there is no nvcc";
    }
    command_.write("m.relay", kDeviceModel);
  }
  ProcessResult compile(const std::string& target, const std::string& output) const {
    return command_.run({"compile", "m.relay", "-o", output, "--target", target});
  }
  Command command_;
};

TEST_F(Cuda, TwoColdCompilesGiveTheSameBytes) {
  std::vector<std::string> libraries;
  for (int i = 0; i < 2; ++i) {
    Command command;
    command.write("m.relay", kDeviceModel);
    const ProcessResult compiled =
        command.run({"compile", "m.relay", "-o", "m.so", "--target", "cuda"});
    ASSERT_TRUE(compiled.ok()) << compiled.err;
    libraries.push_back(*read_file(command.file("m.so")));
  }
  EXPECT_TRUE(libraries[0] == libraries[1]);
}

TEST_F(Cuda, ALibraryNeedsTheSystemsLibrariesAloneAndSaysWhatItIsFor) {
  const ProcessResult compiled = compile("cuda", "m.so");
  ASSERT_TRUE(compiled.ok());
  EXPECT_NE(compiled.out.find("needs at run time: libcuda.so.1\n"), std::string::npos)
      << compiled.out;
  const ProcessResult inspected = command_.run({"inspect", "m.so"});
  ASSERT_TRUE(inspected.ok()) << inspected.err;
  EXPECT_NE(inspected.out.find("gpu_architectures: (sm_90a)"), std::string::npos) << inspected.out;
  EXPECT_NE(inspected.out.find("replay: as a CUDA graph"), std::string::npos);
  EXPECT_NE(inspected.out.find("libraries: (libcuda.so.1)\n"), std::string::npos);
  const std::size_t needed = inspected.out.find("needed: ");
  ASSERT_NE(needed, std::string::npos);
  EXPECT_EQ(inspected.out.find("libcu", needed), std::string::npos) << inspected.out;
}

// Launchers count blocks from two sizes that are known at run time only.
TEST_F(Cuda, ProductsOfOpenSizesCompile) {
  command_.write("open.relay", R"(#[version = "0.0.5"]
def @main(%x: Tensor[(?a, ?b, 64), float16], %w: Tensor[(32, 64), float16], %y: Tensor[(?a, ?b), float32]) {
  %0 = nn.softmax(nn.dense(nn.relu(%x), %w, units=32));
  (%0, transpose(%0, axes=[1, 0, 2]), nn.relu(%y), transpose(%y, axes=[1, 0]), sum(%y, axis=[0]))
})");
  const ProcessResult compiled =
      command_.run({"compile", "open.relay", "-o", "open.so", "--target", "cuda"});
  EXPECT_TRUE(compiled.ok()) << compiled.err;
}

// Divisions by open sizes, unrolled, once took nvcc more than ten minutes; they take seconds.
TEST_F(Cuda, ConvolutionsOfOpenSizesCompileSoon) {
  command_.write("open.relay", R"(#[version = "0.0.5"]
def @main(%x: Tensor[(?n, 64, ?h, ?w), float32], %k: Tensor[(64, 64, 3, 3), float32]) {
  nn.relu(nn.conv2d(%x, %k, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3]))
})");
  const ProcessResult compiled = command_.run(
      {"compile", "open.relay", "-o", "open.so", "--target", "cuda", "--compiler-timeout", "100"});
  EXPECT_TRUE(compiled.ok()) << compiled.err;
}

// Runs `tessera ARGUMENTS` where the toolkit's folder is empty; nothing where the machine does not
// let us hide it.
std::optional<ProcessResult> run_without_toolkit(const Command& command,
                                                 const std::string& arguments) {
  const std::string hide = fmt::format("mount -t tmpfs none '{}' && test ! -e '{}/bin/nvcc'",
                                       fs::canonical(link::find_cuda_compiler()->toolkit).string(),
                                       link::find_cuda_compiler()->toolkit);
  return command.run_with_mount(
      hide, fmt::format("exec '{}/bin/tessera' {}", TESSERA_BUILD_DIR, arguments));
}

// All symbols are found in what the machine has without a toolkit, and no file of one is taken.
TEST_F(Cuda, ALibraryOfCutlassLoadsWithNothingOfTheToolkit) {
  if (!tessera::testing::is_there("cutlass", command_.has_backend("cutlass"))) {
    GTEST_SKIP() << "CUTLASS is not there";
  }
  command_.share_cache();
  command_.write("product.relay", kSmallProduct);
  const ProcessResult compiled =
      command_.run({"compile", "product.relay", "-o", "p.so", "--target", "cuda", "--target",
                    "cutlass", "--require", "cutlass"});
  ASSERT_TRUE(compiled.ok()) << compiled.err;
  void* const library = dlopen(command_.file("p.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto toolkit = link::find_cuda_compiler()->toolkit;
  const auto maps = read_file("/proc/self/maps");
  ASSERT_TRUE(maps);
  EXPECT_NE(maps->find("/p.so"), std::string::npos);
  for (const std::string& of_the_toolkit : {toolkit + "/", std::string("libcudart")}) {
    EXPECT_EQ(maps->find(of_the_toolkit), std::string::npos) << of_the_toolkit << "\n" << *maps;
  }
  dlclose(library);
  // Loaded, and run as far as there is a GPU, where there is no toolkit at all.
  const auto ran = run_without_toolkit(command_, "bench p.so");
  if (!ran) GTEST_SKIP() << "the toolkit cannot be hidden here";
  if (!ran->ok()) {
    EXPECT_EQ(ran->exit_status, 1) << ran->outcome();
    EXPECT_NE(ran->err.find("driver"), std::string::npos) << ran->err;
  }
}

// An nvcc that notes how it is run, in a toolkit of its own.
void write_noting_nvcc(const Command& command, const link::CudaCompiler& cuda) {
  fs::create_directories(command.file("toolkit/bin"));
  const std::string nvcc = command.write(
      "toolkit/bin/nvcc", fmt::format("#!/bin/sh\necho \"$*\" >> '{}'\nexec '{}' \"$@\"\n",
                                      command.file("runs"), cuda.nvcc));
  fs::permissions(nvcc, fs::perms::owner_all);
  fs::create_directory_symlink(cuda.toolkit + "/lib64", command.file("toolkit/lib64"));
}

// What nvcc made for a model is in the cache, with the part of its toolkit that libraries hold:
// another model of the same kernels needs neither.
TEST_F(Cuda, AWarmCacheNeedsNoCudaCompiler) {
  const bool has_cutlass =
      command_.run({"backends"}).out.find("cutlass              available") != std::string::npos;
  write_noting_nvcc(command_, *link::find_cuda_compiler());
  command_.set("CUDA_HOME", command_.file("toolkit"));
  const auto write = [&](const char* name, const char* unused, const char* rows) {
    command_.write(name, fmt::format(R"(#[version = "0.0.5"]
def @main({}%x: Tensor[({}, 13), float16], %w: Tensor[(7, 13), float16]) {{
  transpose(nn.softmax(nn.dense(%x, %w, units=7)), axes=[1, 0])
}})",
                                     unused, rows));
  };
  write("first.relay", "", "31");
  write("second.relay", "%unused: Tensor[(3), float32], ", "31");
  write("third.relay", "", "32");
  const auto compile_to = [&](const char* output, const char* model) {
    std::vector<std::string> line = {"compile", model, "-o", output, "--target", "cuda"};
    if (has_cutlass) line.insert(line.end(), {"--target", "cutlass", "--require", "cutlass"});
    return command_.run(line);
  };
  const ProcessResult first = compile_to("first.so", "first.relay");
  ASSERT_TRUE(first.ok()) << first.err;
  const auto runs = read_file(command_.file("runs"));
  ASSERT_TRUE(runs);
  ASSERT_TRUE(compile_to("first.so", "first.relay").ok());
  EXPECT_EQ(*read_file(command_.file("runs")), *runs);  // not even asked for its version

  const auto hide = [&] { command_.set("CUDA_HOME", command_.file("no/toolkit")); };
  hide();
  const ProcessResult second = compile_to("second.so", "second.relay");
  ASSERT_TRUE(second.ok()) << second.err;
  EXPECT_EQ(second.err.find("CUDA compiler"), std::string::npos) << second.err;
  // With the compiler it would be the same library.
  const std::string without = *read_file(command_.file("second.so"));
  command_.set("CUDA_HOME", command_.file("toolkit"));
  ASSERT_TRUE(compile_to("second.so", "second.relay").ok());
  EXPECT_TRUE(*read_file(command_.file("second.so")) == without);
  EXPECT_EQ(*read_file(command_.file("runs")), *runs);

  hide();
  const ProcessResult third = compile_to("third.so", "third.relay");
  EXPECT_EQ(third.exit_status, 1);
  EXPECT_NE(third.err.find("no CUDA compiler was found: there is no `"), std::string::npos)
      << third.err;
  EXPECT_NE(third.err.find("the cache has no object of `"), std::string::npos) << third.err;
  command_.set("TESSERA_CACHE_DIR", command_.file("cold"));
  const ProcessResult cold = compile_to("first.so", "first.relay");
  EXPECT_EQ(cold.exit_status, 1);
  EXPECT_NE(cold.err.find("no CUDA compiler was found: there is no `"), std::string::npos)
      << cold.err;
}

TEST_F(Cuda, WithoutADriverThereIsASentence) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is a driver";
  ASSERT_TRUE(compile("cuda", "m.so").ok());
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"run", "m.so"},
        {"run", "m.relay", "--target", "cuda"},
        {"compile", "m.relay", "-o", "v.so", "--target", "cuda", "--verify"}}) {
    const ProcessResult ran = command_.run(line);
    EXPECT_EQ(ran.exit_status, 1);
    EXPECT_NE(ran.err.find("there is no NVIDIA driver on this machine"), std::string::npos)
        << ran.err;
    const bool verifies = line.back() == "--verify";
    EXPECT_EQ(ran.err.find("help: --verify runs the model on this machine") != std::string::npos,
              verifies)
        << ran.err;
  }
}

// What such a library needs of a CPU does not depend on where it was compiled, unless one is named.
TEST_F(Cuda, ALibraryRunsOnCpusThatLackWhatThisOneHas) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is a driver";
  command_.share_cache();
  command_.set("TESSERA_DISABLE_CPU_FEATURES", "sse3,ssse3,sse4.1,sse4.2,popcnt,avx,avx2,fma,f16c");
  ASSERT_TRUE(compile("cuda", "any.so").ok());
  const ProcessResult any = command_.run({"run", "any.so"});
  EXPECT_EQ(any.exit_status, 1);
  EXPECT_NE(any.err.find("there is no NVIDIA driver on this machine"), std::string::npos)
      << any.err;
  ASSERT_TRUE(command_
                  .run({"compile", "m.relay", "-o", "named.so", "--target", "cpu -mcpu=x86-64-v3",
                        "--target", "cuda"})
                  .ok());
  const ProcessResult named = command_.run({"run", "named.so"});
  EXPECT_EQ(named.exit_status, 1);
  EXPECT_NE(named.err.find("the model (`cuda`) was compiled for a CPU with "), std::string::npos)
      << named.err;
  EXPECT_NE(named.err.find("compile it with `--target \"cpu -mcpu=NAME\"`"), std::string::npos)
      << named.err;
}

TEST_F(Cuda, PtxThatNoLaterDeviceRunsIsTold) {
  const ProcessResult one = compile("cuda -ptx", "one.so");
  ASSERT_TRUE(one.ok()) << one.err;
  EXPECT_NE(one.err.find("warning[E0403]: target `cuda -ptx`: PTX of sm_90a is not for later"),
            std::string::npos)
      << one.err;
  EXPECT_NE(one.err.find("help: give -arch=sm_90 with -ptx"), std::string::npos) << one.err;
  EXPECT_EQ(read_file(command_.file("one.so"))->find("sm_90a+ptx"), std::string::npos);
  const ProcessResult later = compile("cuda -arch=sm_90 -ptx", "later.so");
  ASSERT_TRUE(later.ok()) << later.err;
  EXPECT_EQ(later.err.find("warning"), std::string::npos) << later.err;
  EXPECT_NE(read_file(command_.file("later.so"))->find("sm_90+ptx"), std::string::npos);
}

// nvcc knows nothing of CUTLASS here. What it says is passed on, and the model does without; the
// function that names its back end has been compiled for the machine that is among the targets.
TEST_F(Cuda, AKernelOfCutlassThatDoesNotCompileIsToldAndReplaced) {
  const std::string cutlass = command_.file("toolkit/bin/nvcc");
  write_noting_nvcc(command_, *link::find_cuda_compiler());
  std::string script = *read_file(cutlass);
  script.insert(script.find("exec"),
                "case \"$*\" in *cutlass*)\n"
                "  echo 'kernel.cu(7): error: out of registers' >&2; exit 2;;\nesac\n");
  command_.write("toolkit/bin/nvcc", script);
  command_.set("CUDA_HOME", command_.file("toolkit")).set("TESSERA_CACHE_DIR", command_.file("c"));
  command_.write("m.relay", R"(#[version = "0.0.5"]
def @region(%x: Tensor[(16, 32), float16], %w: Tensor[(24, 32), float16], Inline=1, Compiler="cutlass", global_symbol="region", Primitive=1) -> Tensor[(16, 24), float16] {
  %1 = fn (%p0: Tensor[(16, 32), float16], %p1: Tensor[(24, 32), float16], Composite="cutlass.dense") -> Tensor[(16, 24), float16] {
    nn.dense(%p0, %p1, units=None, out_dtype="float16")
  };
  %1(%x, %w)
}
def @main(%x: Tensor[(16, 32), float16], %w: Tensor[(24, 32), float16]) { @region(%x, %w) })");
  const ProcessResult done = compile("cuda -arch=sm_80", "m.so");
  ASSERT_TRUE(done.ok()) << done.err;
  EXPECT_NE(done.err.find("kernel.cu(7): error: out of registers"), std::string::npos) << done.err;
  const std::string runs = *read_file(command_.file("runs"));
  EXPECT_NE(runs.find("compute_80"), std::string::npos) << runs;
  EXPECT_EQ(runs.find("compute_90a"), std::string::npos) << runs;
}

TEST_F(Cuda, KernelsOfOurOwnStartEarlyUnlessTold) {
  write_noting_nvcc(command_, *link::find_cuda_compiler());
  command_.set("CUDA_HOME", command_.file("toolkit"));
  for (const std::string target : {"cuda", "cuda -dependent_launch=false"}) {
    command_.set("TESSERA_CACHE_DIR", command_.file("cache of " + target));
    fs::remove(command_.file("runs"));
    ASSERT_TRUE(compile(target, "m.so").ok());
    EXPECT_EQ(
        read_file(command_.file("runs"))->find("-DTK_DEPENDENT_LAUNCH=0") == std::string::npos,
        target == "cuda");
  }
}

TEST_F(Cuda, ADriverWithoutAGpuOrThatIsTooOldIsTold) {
  ASSERT_TRUE(compile("cuda", "m.so").ok());
  command_.set("LD_LIBRARY_PATH", TESSERA_FAKE_DRIVER);
  for (const auto& [version, sentence] :
       {std::pair("13000", "there is no NVIDIA GPU on this machine"),
        std::pair("12080",
                  "the NVIDIA driver is older than the library, which needs one for CUDA 13")}) {
    command_.set("FAKE_DRIVER_VERSION", version);
    const ProcessResult ran = command_.run({"run", "m.so"});
    EXPECT_EQ(ran.exit_status, 1);
    EXPECT_NE(ran.err.find(sentence), std::string::npos) << ran.err;
  }
}

TEST_F(Cuda, GpusThatAreHiddenAreToldWithTheVariable) {
  ASSERT_TRUE(compile("cuda", "m.so").ok());
  command_.set("LD_LIBRARY_PATH", TESSERA_FAKE_DRIVER).set("FAKE_DRIVER_VERSION", "13000");
  for (const std::string shown : {"", "-1", "7"}) {
    command_.set("CUDA_VISIBLE_DEVICES", shown);
    const ProcessResult ran = command_.run({"run", "m.so"});
    EXPECT_EQ(ran.exit_status, 1);
    EXPECT_NE(ran.err.find("no NVIDIA GPU is visible: CUDA_VISIBLE_DEVICES is `" + shown + "`"),
              std::string::npos)
        << ran.err;
  }
}

TEST_F(Cuda, WrongArchitecturesAreRefused) {
  const ProcessResult none = compile("cuda -arch=sm_3", "bad.so");
  EXPECT_EQ(none.exit_status, 1);
  EXPECT_NE(none.err.find("option `arch` must be an architecture"), std::string::npos) << none.err;
  const ProcessResult old = compile("cuda -arch=sm_70", "bad.so");
  EXPECT_EQ(old.exit_status, 1);
  EXPECT_NE(old.err.find("from sm_75 on"), std::string::npos) << old.err;
  EXPECT_EQ(old.err.find("nvcc"), std::string::npos) << old.err;
  const ProcessResult unknown = compile("cuda -arch=sm_99", "bad.so");
  EXPECT_EQ(unknown.exit_status, 1);
  EXPECT_NE(unknown.err.find("compute_99"), std::string::npos) << unknown.err;
  EXPECT_FALSE(std::filesystem::exists(command_.file("bad.so")));
}

}  // namespace
}  // namespace tessera::e2e
