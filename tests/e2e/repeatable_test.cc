// SPDX-License-Identifier: Apache-2.0
// The same model and options give the same bytes, wherever and whenever.
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "command.h"

namespace tessera::e2e {
namespace {

// Another folder, cache and number of jobs; every kernel is compiled anew.
TEST(Repeatable, TwoColdCompilesGiveTheSameBytes) {
  std::vector<std::string> libraries;
  const std::pair<std::string, std::string> places[] = {{"one.so", "1"}, {"sub/one.so", "3"}};
  for (const auto& [output, jobs] : places) {
    Command command;
    std::filesystem::create_directories(command.file("sub"));
    command.write("m.relay", R"(#[version = "0.0.5"]
def @main(%x: Tensor[(4, 32), float32], %v: Tensor[(24, 32), float32], %g: Tensor[(4, 40), float32]) {
  %0 = nn.dense(%x, %v, units=24);
  %1 = nn.softmax(%0);
  %2 = nn.layer_norm(%g, ones(shape=[40], dtype="float32"), zeros(shape=[40], dtype="float32"));
  %3 = tanh(%2);
  (add(%1, 0.5f), %3, mean(%3, axis=[0]))
})");
    const ProcessResult compiled = command.run({"compile", "m.relay", "-o", output, "--jobs", jobs,
                                                "--backends", "onednn,ccompiler,blas"});
    ASSERT_TRUE(compiled.ok()) << compiled.err;
    EXPECT_FALSE(names_in(command.file("cache/objects")).empty());
    libraries.push_back(*read_file(command.file(output)));
  }
  EXPECT_TRUE(libraries[0] == libraries[1]);
}

// The CPUs that this process and those it starts may use, for as long as it lives: the first of
// those it has.
class OnOneCpu {
 public:
  OnOneCpu() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before_)) continue;
      CPU_SET(cpu, &one);
      break;
    }
    is_set_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  OnOneCpu(const OnOneCpu&) = delete;
  OnOneCpu& operator=(const OnOneCpu&) = delete;
  ~OnOneCpu() {
    if (is_set_) sched_setaffinity(0, sizeof before_, &before_);
  }
  int cpus_before() const { return is_set_ ? CPU_COUNT(&before_) : 0; }

 private:
  cpu_set_t before_ = {};
  bool is_set_ = false;
};

// oneDNN chooses layouts and scratch memory of these by the number of threads.
constexpr const char* kProducts = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(64, 256), float32], %i: Tensor[(1, 16, 14, 14), float32]) {
  %0 = nn.dense(%x, full(0.5f, shape=[512, 256], dtype="float32"), units=512);
  %1 = nn.conv2d(%i, full(0.5f, shape=[64, 16, 3, 3], dtype="float32"), channels=64,
                 kernel_size=[3, 3], padding=[1, 1, 1, 1]);
  (nn.relu(%0), nn.relu(%1))
})";

TEST(Repeatable, TheNumberOfCpusDoesNotMatter) {
  Command command;
  command.write("m.relay", kProducts);
  const std::vector<std::string> arguments = {"compile", "m.relay", "--backends", "onednn", "-o"};
  const auto compile = [&](const std::string& output) {
    std::vector<std::string> all = arguments;
    all.push_back(output);
    const ProcessResult compiled = command.run(all);
    EXPECT_TRUE(compiled.ok()) << compiled.err;
    return *read_file(command.file(output));
  };
  const std::string on_all = compile("m.so");
  const OnOneCpu one;
  if (one.cpus_before() < 2) GTEST_SKIP() << "there is one CPU";
  EXPECT_TRUE(compile("m.so") == on_all);
}

// Where a library says where it finds oneDNN, that is on this machine alone.
TEST(Repeatable, WhereVendorLibrariesLieDoesNotMatter) {
  if (!Command().has_backend("onednn")) GTEST_SKIP() << "there is no oneDNN";
  for (const char* option : {"--bundle", "--bundle=inside", "--reproducible"}) {
    std::vector<std::string> libraries;
    for (const bool moved : {false, true}) {
      Command command;
      if (moved) {
        std::filesystem::copy(vendor_folder(), command.file("moved"),
                              std::filesystem::copy_options::recursive);
        command.set("TESSERA_LIBRARY_PATH", command.file("moved"));
      }
      command.write("m.relay", kProducts);
      const ProcessResult compiled =
          command.run({"compile", "m.relay", "--backends", "onednn", "-o", "m.so", option});
      ASSERT_TRUE(compiled.ok()) << compiled.err;
      libraries.push_back(*read_file(command.file("m.so")));
    }
    EXPECT_TRUE(libraries[0] == libraries[1]) << option;
  }
}

}  // namespace
}  // namespace tessera::e2e
