// SPDX-License-Identifier: Apache-2.0
// Compiling and measuring where the machine is at fault, and not what it was given.
#include <filesystem>

#include <gtest/gtest.h>

#include "command.h"
#include "small_product.h"
#include "support/testing/requirement.h"

namespace tessera::e2e {
namespace {

constexpr const char* kWriteSomething =
    "while [ \"$1\" != -o ]; do shift; done; echo an object > \"$2\"";

// With a compiler that says its version, and else what `script` does; and a GPU by name alone.
class FailingMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    command_.write("m.relay", kSmallProduct);
    if (!tessera::testing::is_there("cutlass", command_.has_backend("cutlass"))) {
      GTEST_SKIP() << "CUTLASS is not there";
    }
    command_.set("LD_LIBRARY_PATH", TESSERA_FAKE_DRIVER).set("FAKE_DRIVER_GPU", "");
    compiler_does("echo 'fatal error: error writing to x: No space left on device' >&2; exit 1");
  }
  void compiler_does(const std::string& script) {
    std::filesystem::create_directories(command_.file("cuda/bin"));
    const std::string nvcc =
        command_.write("cuda/bin/nvcc",
                       "#!/bin/sh\ncase \"$*\" in *--version*) echo release 13.0, fake; exit;; "
                       "esac\n" +
                           script + "\n");
    std::filesystem::permissions(nvcc, std::filesystem::perms::owner_all);
    command_.set("CUDA_HOME", command_.file("cuda"));
  }
  ProcessResult run(const std::string& command, const std::vector<std::string>& more,
                    const std::string& cuda = "cuda",
                    const std::string& cutlass = "cutlass") const {
    std::vector<std::string> line = {command, "m.relay", "--target", cuda, "--target", cutlass};
    line.insert(line.end(), more.begin(), more.end());
    return command_.run(line);
  }
  void expect_error(const ProcessResult& ran, const std::vector<std::string>& parts) const {
    EXPECT_EQ(ran.exit_status, 1) << ran.out << ran.err;
    for (const std::string& part : parts)
      EXPECT_TRUE(ran.err.find(part) != std::string::npos) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(command_.file("m.so")));
  }
  Command command_;
};

TEST_F(FailingMachine, HasGpusThatAreHidden) {
  command_.unset("FAKE_DRIVER_GPU").set("CUDA_VISIBLE_DEVICES", "-1");
  expect_error(run("tune", {"--records", "r.db"}),
               {"measuring needs a GPU: no NVIDIA GPU is visible: CUDA_VISIBLE_DEVICES is `-1`"});
}

TEST_F(FailingMachine, IsAnErrorOfTheCompilation) {
  for (const auto& [script, sentence] :
       {std::pair("echo 'error writing to x: No space left on device' >&2; exit 1",
                  "error writing to x: No space left on device"),
        std::pair("kill -9 $$", "signal 9"),
        // nvcc of CUDA 13 where the one that is ended by the system is a part of it, or itself.
        std::pair("echo Killed >&2; exit 137", ".cu`: Killed"),
        std::pair("echo >&2; echo 'Compilation terminated.' >&2; exit 4",
                  ".cu`: Compilation terminated."),
        std::pair("echo 'nvcc: Terminated' >&2; exit 255", ".cu`: nvcc: Terminated")}) {
    compiler_does(script);
    expect_error(run("compile", {"-o", "m.so"}),
                 {"error[E0105]: `", sentence, "help: make room on the disk or in memory"});
  }
  command_.write("file", "");
  expect_error(run("compile", {"-o", "m.so"}, "cuda", "cutlass -tmp_dir=file/below"),
               {"error[E0103]: cannot write `file/below", "help: choose another folder"});
}

TEST_F(FailingMachine, IsAnErrorOfMeasuring) {
  for (const ProcessResult& ran :
       {run("tune", {"--records", "r.db"}), run("compile", {"--tune", "-o", "m.so"})}) {
    expect_error(ran, {"error[E0105]: nothing of `", "No space left on device",
                       "help: measure again when that is mended"});
  }
}

TEST_F(FailingMachine, WithoutTimeIsToldSo) {
  // The measuring program's turn comes first, and there is no time for kernels.
  compiler_does(std::string("sleep 1; ") + kWriteSomething);
  expect_error(run("tune", {"--records", "r.db", "--budget", "1", "--jobs", "1"}),
               {"error[E0404]: no product has a configuration that can be used: the budget was "
                "spent",
                "help: give more time with --budget"});
}

// No kernel compiles, neither those that are tried nor those that the model gets in their place.
TEST_F(FailingMachine, WhoHasMeasuredIsNotToldTo) {
  compiler_does(std::string("case \"$*\" in *cutlass_measure*) ") + kWriteSomething +
                ";; *) echo 'k.cu(7): error: out of registers' >&2; exit 2;; esac");
  const char* help = "help: `tessera records r.db` says what failed and why; try more with ";
  const ProcessResult compiled = run("compile", {"--tune", "--records", "r.db", "-o", "m.so"});
  expect_error(compiled,
               {"the records in `r.db` have no usable time, but 8 failures, for 1 of 1 products",
                "k.cu(7): error: out of registers", help});
  EXPECT_EQ(compiled.err.find("`tessera tune` measures"), std::string::npos) << compiled.err;
  expect_error(run("tune", {"--records", "r.db"}), {"all that were tried failed", help});
}

TEST_F(FailingMachine, OfAnotherGpuMeasuresAndWritesNothing) {
  const char* other = "cuda -arch=sm_80";
  for (const ProcessResult& ran :
       {run("tune", {"--records", "n.db"}, other),
        run("compile", {"--tune", "--records", "n.db", "-o", "m.so"}, other)}) {
    expect_error(ran,
                 {"error[E0502]: the GPU of this machine (NVIDIA H200) is of architecture sm_90",
                  "help: name this machine's GPU"});
    EXPECT_FALSE(std::filesystem::exists(command_.file("n.db")));
  }
}

}  // namespace
}  // namespace tessera::e2e
