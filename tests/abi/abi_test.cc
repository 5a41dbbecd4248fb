// SPDX-License-Identifier: Apache-2.0
// A produced library as its users meet it: a C program, an empty environment, a folder that nobody
// writes to.
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "link/library_file.h"
#include "link/link_library.h"
#include "runtime/blake2b.h"
#include "support/files.h"
#include "support/subprocess.h"
#include "tessera/model.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class AbiTest : public ::testing::Test {
 protected:
  AbiTest() : folder_(*TempDir::make("tessera-abi-test")) {}

  static link::Toolchain& toolchain() {
    static link::Toolchain tools = [] {
      auto found =
          link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = {}, .jobs = 1});
      if (!found) ADD_FAILURE() << render(found.error());
      return *std::move(found);
    }();
    return tools;
  }

  // Links tests/abi/model.cc, compiled with `flags`, to `name`; gives the path.
  std::string make_library(const std::string& name, const std::vector<std::string>& flags = {},
                           const std::vector<std::string>& vendor_folders = {},
                           const std::string& inside = "") {
    const CompileJob job{"model",
                         Source::trusted(*read_file(TESSERA_SOURCE_DIR "/tests/abi/model.cc")),
                         "cc", flags};
    auto objects = toolchain().compile({&job, 1});
    EXPECT_TRUE(objects) << render(objects.error());
    const float w[] = {1, 2, 3, 4, 5, 6};
    link::LinkInput input;
    input.objects = *std::move(objects);
    input.weights = {{0, Blob::copy_of(std::as_bytes(std::span(w)))}};
    input.weights_bytes = sizeof w;
    input.vendor_folders = vendor_folders;
    if (!inside.empty()) {
      input.weights.push_back({4096, Blob::copy_of(std::as_bytes(std::span(inside)))});
      input.weights_bytes = 4096 + inside.size();
    }
    const std::string path = folder_.file(name);
    const auto linked = link::link_library(toolchain(), input, path);
    EXPECT_TRUE(linked) << render(linked.error());
    return path;
  }

  // Runs the C program in the folder and in an environment of `environment` only.
  static ProcessResult client(std::vector<std::string> arguments,
                              const std::vector<std::string>& environment = {},
                              const std::string& folder = "/") {
    arguments.insert(arguments.begin(), TESSERA_ABI_CLIENT);
    ProcessOptions options;
    options.cwd = folder;
    options.environment = environment;
    auto result = run_process(arguments, options);
    EXPECT_TRUE(result);
    return *std::move(result);
  }

  // A vendor library whose one function returns `version`, in a new folder `name`.
  std::string make_vendor(const std::string& name, int version) {
    const std::string folder = folder_.file(name);
    fs::create_directories(folder);
    const CompileJob job{
        "vendor",
        source("extern \"C\" __attribute__((visibility(\"default\"))) int abi_vendor_version() "
               "{{ return {}; }}",
               version),
        "cc",
        {}};
    auto objects = toolchain().compile({&job, 1});
    EXPECT_TRUE(objects);
    EXPECT_TRUE(write_atomically(folder + "/vendor.o", objects->front()));
    std::vector<std::string> command = toolchain().compiler().command;
    command.insert(command.end(), {"-shared", "-nostdlib", folder + "/vendor.o", "-o",
                                   folder + "/libabivendor.so.1"});
    EXPECT_TRUE(run_process(command)->ok());
    return folder;
  }

  TempDir folder_;
};

TEST_F(AbiTest, ThreadsRunAnInstanceEach) {
  const ProcessResult result = client({make_library("m.so"), "threads", "8"});
  EXPECT_TRUE(result.ok()) << result.outcome() << result.err;
}

TEST_F(AbiTest, RunsFromAReadOnlyFolderWithNothingAround) {
  const std::string library = make_library("m.so");
  const std::string folder = fs::path(library).parent_path();
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  ASSERT_EQ(::chmod(library.c_str(), 0444), 0);
  const ProcessResult result = client({library, "print"});
  EXPECT_TRUE(result.ok()) << result.outcome() << result.err;
  EXPECT_EQ(result.out, "1\n0\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
}

TEST_F(AbiTest, SteadyRunsAllocateNothingAndCostLittle) {
  const ProcessResult result = client({make_library("m.so", {"-O2"}), "steady"});
  ASSERT_TRUE(result.ok()) << result.outcome() << result.err;
  EXPECT_LT(std::stol(result.out), 20'000);  // nanoseconds, all in
}

TEST_F(AbiTest, TensorsLieInMemoryThatIsGivenForPools) {
  const ProcessResult result = client({make_library("m.so", {"-DPLACES"}), "places"});
  ASSERT_TRUE(result.ok()) << result.outcome() << result.err;
  EXPECT_EQ(result.out,
            "the memory given for pool `arena` has 4095 bytes, and the pool needs 4096\n"
            "the memory given for pool `arena` is on CUDA device 0, and the instance on the CPU\n"
            "the memory given for pool `arena` is not aligned to 64 bytes\n");
}

// Of a compiled model, with what it computes and its inputs and outputs in two pools.
TEST_F(AbiTest, EachPoolHasMemoryOfItsOwn) {
  const std::string model = folder_.file("m.relay"), library = folder_.file("m.so");
  ASSERT_TRUE(write_atomically(model,
                               "#[version = \"0.0.5\"]\n"
                               "def @main(%x: Tensor[(16, 64), float32]) {\n"
                               "  %0 = nn.softmax(%x); %1 = nn.softmax(%0); %2 = nn.softmax(%1);\n"
                               "  (%2, add(%0, %2))\n}\n"));
  const auto made = run_process({TESSERA_BUILD_DIR "/bin/tessera", "compile", model, "-o", library,
                                 "--partition", "none", "--pool", "name=fast,size=8kB", "--pool",
                                 "name=slow,align=256", "--pool-io"});
  ASSERT_TRUE(made && made->ok()) << (made ? made->err : "");
  const ProcessResult result = client({library, "places"});
  ASSERT_TRUE(result.ok()) << result.outcome() << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 6u) << result.out;
  EXPECT_EQ(lines[0], "the memory given for pool `fast` has 4095 bytes, and the pool needs 4096");
  EXPECT_EQ(lines[2], "the memory given for pool `fast` is not aligned to 64 bytes");
  EXPECT_TRUE(lines[3].starts_with("the memory given for pool `slow` has ")) << lines[3];
  EXPECT_EQ(lines[4],
            "the memory given for pool `slow` is on CUDA device 0, and the instance on the CPU");
  EXPECT_EQ(lines[5], "the memory given for pool `slow` is not aligned to 256 bytes");
}

TEST_F(AbiTest, LoadsRunsAndUnloads) {
  const ProcessResult result = client({make_library("m.so"), "reload"});
  EXPECT_TRUE(result.ok()) << result.outcome() << result.err;
}

TEST_F(AbiTest, EachWrongInputHasItsSentence) {
  const ProcessResult result = client({make_library("m.so"), "wrong-inputs"});
  ASSERT_TRUE(result.ok()) << result.outcome() << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0], "0 inputs given, the model has 1");
  EXPECT_EQ(lines[1], "input `x` has dtype complex32, the model takes float32");
  EXPECT_EQ(lines[2], "input `x` has 3 dimensions, the model takes 2: (2, 3)");
  EXPECT_EQ(lines[3], "input `x` has shape (3, 3), the model takes (2, 3)");
  EXPECT_TRUE(lines[4].starts_with("the data of input `x` is not aligned: ")) << lines[4];
  EXPECT_EQ(lines[5], "the data of input `x` is a null pointer");
  EXPECT_EQ(lines[6], "the model has no input `no such name`; it has `x`");
}

TEST_F(AbiTest, AKeptWeightIsSetAndReset) {
  const ProcessResult result = client({make_library("m.so", {"-DKEEP_WEIGHT"}), "weights"});
  ASSERT_TRUE(result.ok()) << result.outcome() << result.err;
  EXPECT_EQ(result.out,
            "w 2 x 3\n"
            "there is no kept weight 1; the model has 1\n"
            "1\n"
            "the model has no kept weight `v`; it has `w`\n"
            "`name` is a null pointer\n"
            "kept weight `w` has dtype float64, the model takes float32\n"
            "kept weight `w` has shape (3, 3), the model takes (2, 3)\n"
            "the data of kept weight `w` is a null pointer\n"
            "kept weight `w` is on CUDA device 0, the instance on the CPU\n"
            "`instance` is a null pointer\n"
            "1\n"
            "100\n"
            "1\n"
            "-1\n"
            "1\n");
}

TEST_F(AbiTest, OtherVersionsAreRefused) {
  const ProcessResult caller = client({make_library("m.so"), "wrong-abi"});
  ASSERT_TRUE(caller.ok()) << caller.err;
  EXPECT_EQ(caller.out,
            "the program was built for ABI version 77, the model's library has ABI version 2: "
            "compile the model "
            "with the tessera whose headers the program uses\n");
  const ProcessResult parts = client({make_library("old.so", {"-DPROGRAM_ABI=7"}), "print"});
  EXPECT_EQ(parts.exit_status, 1);
  EXPECT_NE(parts.err.find("this library's parts do not belong together"), std::string::npos)
      << parts.err;
}

TEST_F(AbiTest, AnotherCpuIsRefused) {
  const std::string library = make_library("m.so", {"-DWITH_FEATURE=\"sse4.2\""});
  EXPECT_TRUE(client({library, "print"}).ok());
  const ProcessResult refused = client({library, "print"}, {"TESSERA_DISABLE_CPU_FEATURES=sse4.2"});
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_EQ(refused.err,
            "error: the model (`cpu -mcpu=by-hand`) was compiled for a CPU with sse4.2, which this "
            "one does not have: compile it with `--target \"cpu -mcpu=NAME\"`, the name of a CPU "
            "that both machines are\n");
}

// A file that lies beside the library by accident, or by malice, is not looked at.
TEST_F(AbiTest, VendorLibrariesAreSearchedByPathThenBySystem) {
  const std::string library = make_library("m.so", {"-DWITH_VENDOR"});
  const std::string by_path = make_vendor("by_path", 2), by_system = make_vendor("by_system", 3);
  fs::copy(make_vendor("beside", 1) + "/libabivendor.so.1", folder_.path());
  const std::vector<std::string> system = {"LD_LIBRARY_PATH=" + by_system};
  std::vector<std::string> both = system;
  both.push_back("TESSERA_LIBRARY_PATH=/nowhere:" + by_path);
  EXPECT_EQ(client({library, "print"}, system).out, "1\n3\n");
  EXPECT_EQ(client({library, "print"}, both).out, "1\n2\n");
  EXPECT_EQ(client({library, "print"}).exit_status, 1);
}

// Where the compiling machine had it is the last place; the working directory is none.
TEST_F(AbiTest, AVendorLibraryIsFoundWhereTheCompilingMachineHadIt) {
  const std::string noted = make_vendor("noted", 5);
  const std::string library = make_library("m.so", {"-DWITH_VENDOR"}, {"/nowhere", noted});
  const std::vector<std::string> path = {"TESSERA_LIBRARY_PATH=" + make_vendor("by_path", 2)};
  EXPECT_EQ(client({library, "print"}).out, "1\n5\n");
  EXPECT_EQ(client({library, "print"}, path).out, "1\n2\n");
  EXPECT_EQ(client({library, "print"}, {"LD_LIBRARY_PATH=" + make_vendor("by_system", 3)}).out,
            "1\n3\n");
  fs::remove_all(noted);
  const ProcessResult refused = client({library, "print"}, {}, make_vendor("here", 6));
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_NE(refused.err.find("looked in /nowhere, " + noted + ", and where the system looks"),
            std::string::npos)
      << refused.err;
}

// What was bundled comes first, and only that, by its hash.
TEST_F(AbiTest, ABundledVendorLibraryIsKnownByItsHash) {
  const std::string bundled = make_vendor("bundled", 1) + "/libabivendor.so.1";
  const std::string bytes = *read_file(bundled), beside = folder_.file("libabivendor.so.1");
  const std::string hash = runtime::Blake2b(bytes.data(), bytes.size()).text;
  const std::string library = make_library("m.so", {"-DWITH_VENDOR", "-DBUNDLED=\"" + hash + "\""});
  const std::vector<std::string> path = {"TESSERA_LIBRARY_PATH=" + make_vendor("by_path", 2)};
  EXPECT_EQ(client({library, "print"}, path).out, "1\n2\n");
  fs::copy(bundled, beside);
  EXPECT_EQ(client({library, "print"}, path).out, "1\n1\n");
  EXPECT_EQ(client({library, "print"}).out, "1\n1\n");
  std::string changed = bytes;
  changed.back() ^= 1;
  for (const std::string& other :
       {changed, *read_file(make_vendor("other", 4) + "/libabivendor.so.1"), std::string()}) {
    ASSERT_TRUE(write_atomically(beside, other));
    EXPECT_EQ(client({library, "print"}, path).out, "1\n2\n");
  }
  const ProcessResult refused = client({library, "print"});
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_EQ(refused.err,
            fmt::format("error: vendor library `libabivendor.so.1` not found (the one beside the "
                        "model is not what was bundled): back end `abivendor` needs it for "
                        "`vendor_kernel`; looked in {}, and where the system looks; name its "
                        "directory in TESSERA_LIBRARY_PATH, or compile the model with --bundle, "
                        "which puts it beside the library\n",
                        folder_.path()));
  fs::remove(beside);
  ASSERT_EQ(::mkfifo(beside.c_str(), 0600), 0);  // nobody writes to it
  EXPECT_EQ(client({library, "print"}, path).out, "1\n2\n");
}

// How many files in memory with an image of that hash this process has mapped.
std::size_t images_in_this_process(const std::string& hash) {
  std::set<std::string> inodes;
  for (const std::string& line : lines_of(*read_file("/proc/self/maps"))) {
    std::istringstream words(line);
    std::string range, flags, offset, device, inode, path;
    words >> range >> flags >> offset >> device >> inode >> path;
    if (path == "/memfd:tessera-" + hash) inodes.insert(inode);
  }
  return inodes.size();
}

// One file: what travels inside is opened from memory, once for all models that carry it.
TEST_F(AbiTest, AVendorLibraryTravelsInside) {
  const std::string bytes = *read_file(make_vendor("bundled", 6) + "/libabivendor.so.1");
  const std::string hash = runtime::Blake2b(bytes.data(), bytes.size()).text;
  const std::vector<std::string> flags = {"-DWITH_VENDOR", "-DBUNDLED=\"" + hash + "\"",
                                          fmt::format("-DINSIDE={}", bytes.size())};
  const std::string one = make_library("one.so", flags, {}, bytes);
  const std::string two = make_library("two.so", flags, {}, bytes);
  EXPECT_EQ(client({one, "print"}).out, "1\n6\n");
  EXPECT_EQ(client({one, "print"}, {"TESSERA_LIBRARY_PATH=" + make_vendor("by_path", 2)}).out,
            "1\n6\n");
  for (const std::string& path : {one, two, one}) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    auto* create =
        reinterpret_cast<decltype(&tessera_model_create)>(::dlsym(library, "tessera_model_create"));
    auto* destroy = reinterpret_cast<decltype(&tessera_model_destroy)>(
        ::dlsym(library, "tessera_model_destroy"));
    tessera_model* model = nullptr;
    ASSERT_EQ(create(nullptr, &model), TESSERA_OK);
    EXPECT_EQ(images_in_this_process(hash), 1u);
    destroy(model);
  }
}

// What cannot be opened from memory is looked for elsewhere, and the sentence says why.
TEST_F(AbiTest, WhatIsInsideMayNotBeALibrary) {
  const std::string library =
      make_library("m.so", {"-DWITH_VENDOR", "-DBUNDLED=\"00\"", "-DINSIDE=5"}, {}, "12345");
  EXPECT_EQ(client({library, "print"}, {"TESSERA_LIBRARY_PATH=" + make_vendor("by_path", 2)}).out,
            "1\n2\n");
  const ProcessResult refused = client({library, "print"});
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_NE(refused.err.find("(the one inside cannot be opened: /proc/self/fd/"), std::string::npos)
      << refused.err;
}

TEST_F(AbiTest, AMissingVendorLibraryIsOneSentence) {
  const std::string library = make_library("m.so", {"-DWITH_VENDOR"});
  const ProcessResult result = client({library, "print"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(
      result.err,
      "error: vendor library `libabivendor.so.1` not found: back end `abivendor` needs it for "
      "`vendor_kernel`; looked where the system looks; name its directory in "
      "TESSERA_LIBRARY_PATH, or compile the model with --bundle, which puts it beside the "
      "library\n");
}

TEST_F(AbiTest, AForkOfAProcessThatRanRunsToo) {
  const ProcessResult result = client({make_library("m.so"), "fork"});
  EXPECT_TRUE(result.ok()) << result.outcome() << result.err;
  EXPECT_EQ(result.out, "1\n1\n");
}

TEST_F(AbiTest, TooManyThreadsOfTheEnvironmentAreAnError) {
  const ProcessResult result = client({make_library("m.so"), "print"}, {"OMP_NUM_THREADS=100000"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.err,
            "error: 100000 threads asked for by OMP_NUM_THREADS; an instance has at most 1024\n");
}

TEST_F(AbiTest, ToolsSeeOnlyWhatTheyMay) {
  const std::string library = make_library("m.so", {"-DWITH_VENDOR"});
  const auto symbols = run_process({"nm", "-D", "--defined-only", "--format=posix", library});
  ASSERT_TRUE(symbols && symbols->ok());
  for (const std::string& line : lines_of(symbols->out))
    EXPECT_TRUE(line.starts_with("tessera_")) << line;
  const auto dynamic = run_process({"readelf", "-d", "-W", library});
  ASSERT_TRUE(dynamic && dynamic->ok());
  EXPECT_NE(dynamic->out.find("NODELETE"), std::string::npos);
  EXPECT_EQ(dynamic->out.find("RPATH"), std::string::npos);
  EXPECT_EQ(dynamic->out.find("RUNPATH"), std::string::npos);
  const auto file = link::read_library_file(library);
  ASSERT_TRUE(file);
  const std::set<std::string> needed(file->needed.begin(), file->needed.end());
  const std::set<std::string> expected = {"libc.so.6", "ld-linux-x86-64.so.2"};
  EXPECT_EQ(needed, expected);
}

// Those of C that are whole.
TEST_F(AbiTest, ExamplesOfTheDocumentCompile) {
  const auto document = read_file(TESSERA_SOURCE_DIR "/docs/abi.md");
  ASSERT_TRUE(document);
  const std::string begin = "```c\n", end = "```\n";
  int compiled = 0;
  for (auto at = document->find(begin); at != std::string::npos; at = document->find(begin, at)) {
    at += begin.size();
    const std::string text = document->substr(at, document->find(end, at) - at);
    if (text.find("#include \"tessera/model.h\"") == std::string::npos) continue;
    ASSERT_TRUE(write_atomically(folder_.file("example.c"), text));
    const auto built =
        run_process({"cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                     "-I" TESSERA_SOURCE_DIR "/include", folder_.file("example.c")});
    ASSERT_TRUE(built);
    EXPECT_TRUE(built->ok()) << built->err << text;
    ++compiled;
  }
  EXPECT_EQ(compiled, 3);
}

// By the library's name, whatever the path by which the linker was told of it.
TEST_F(AbiTest, LinksIntoACProgram) {
  const std::string library = make_library("linked_model.so");
  const std::string program = folder_.file("linked");
  const auto built =
      run_process({"cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
                   "-I" TESSERA_SOURCE_DIR "/include", TESSERA_SOURCE_DIR "/tests/abi/linked.c",
                   fs::relative(library), "-Wl,-rpath,$ORIGIN", "-o", program});
  ASSERT_TRUE(built);
  ASSERT_TRUE(built->ok()) << built->err;
  const auto ran = run_process({program}, {"/", std::nullopt, std::nullopt});
  ASSERT_TRUE(ran && ran->ok()) << ran->err;
  EXPECT_EQ(ran->out, "18\n");
}

}  // namespace
}  // namespace tessera
