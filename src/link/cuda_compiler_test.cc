// SPDX-License-Identifier: Apache-2.0
#include "link/cuda_compiler.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "link/library_file.h"
#include "link/link_library.h"
#include "support/files.h"
#include "support/testing/requirement.h"

namespace tessera::link {
namespace {

// nvcc's names of what is internal have a number that it would make of the folder.
constexpr const char* kFill =
    "#include \"value.h\"\n"
    "namespace { __device__ float hidden = kValue; }\n"
    "__global__ void fill(float* p) { p[threadIdx.x] = hidden; }\n"
    "extern \"C\" int tessera_fill(float* p) {\n"
    "  fill<<<1, 32>>>(p);\n"
    "  return static_cast<int>(cudaGetLastError());\n"
    "}\n";

TEST(CudaMessages, SerialisedMatrixInstructionsAreAnError) {
  EXPECT_EQ(cuda_complaint("ptxas info: fine\n"), "");
  EXPECT_EQ(cuda_complaint("a\nptxas info : (C7510) wgmma serialized in f\nb\n"),
            "ptxas info : (C7510) wgmma serialized in f");
}

// CUDA_HOME for a while.
class CudaHome {
 public:
  explicit CudaHome(const std::string& folder) {
    if (const char* before = std::getenv("CUDA_HOME")) before_ = before;
    setenv("CUDA_HOME", folder.c_str(), 1);
  }
  ~CudaHome() { before_ ? setenv("CUDA_HOME", before_->c_str(), 1) : unsetenv("CUDA_HOME"); }
  CudaHome(const CudaHome&) = delete;
  CudaHome& operator=(const CudaHome&) = delete;

 private:
  std::optional<std::string> before_;
};

// An `nvcc` that is a script, or none.
class ToldToolkit : public ::testing::Test {
 protected:
  ToldToolkit() : folder_(*TempDir::make("tessera-told-toolkit-test")), home_(folder_.path()) {}
  void write_nvcc(const std::string& script) const {
    std::filesystem::create_directories(folder_.file("bin"));
    ASSERT_TRUE(write_atomically(folder_.file("bin/nvcc"), "#!/bin/sh\n" + script));
    std::filesystem::permissions(folder_.file("bin/nvcc"), std::filesystem::perms::owner_all);
  }
  static std::string refusal() {
    const auto found = find_cuda_compiler();
    return found ? "" : render(found.error());
  }
  TempDir folder_;
  CudaHome home_;
};

TEST_F(ToldToolkit, WithoutACompilerIsRefused) {
  EXPECT_NE(refusal().find("there is no `" + folder_.file("bin/nvcc") + "`"), std::string::npos)
      << refusal();
}

TEST_F(ToldToolkit, ThatIsTooOldIsRefused) {
  write_nvcc("echo 'Cuda compilation tools, release 12.8, V12.8.93'\n");
  EXPECT_NE(refusal().find("is of CUDA 12.8, and CUDA 13.0 or later is needed"), std::string::npos)
      << refusal();
  EXPECT_NE(refusal().find("install the CUDA toolkit"), std::string::npos);
  write_nvcc("echo 'another program, and its version'\n");
  EXPECT_NE(refusal().find("bin/nvcc` does not say its release, and CUDA 13.0 or later is needed"),
            std::string::npos)
      << refusal();
}

TEST_F(ToldToolkit, ThatDoesNotRunIsRefused) {
  write_nvcc("echo 'no license' >&2; exit 3\n");
  EXPECT_NE(refusal().find("does not run: "), std::string::npos) << refusal();
}

TEST_F(ToldToolkit, IsAskedOnce) {
  const std::string answer = "echo 'Cuda compilation tools, release 13.1, V13.1.80'\n";
  const std::string count = "echo asked >> '" + folder_.file("log") + "'\n";
  write_nvcc(count + answer);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refusal(), "");
  EXPECT_EQ(*read_file(folder_.file("log")), "asked\n");
  write_nvcc(count + count + answer);  // another one in its place
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refusal(), "");
  EXPECT_EQ(*read_file(folder_.file("log")), "asked\nasked\nasked\n");
}

// So that what comes first is whole when time runs out; nothing more is made of what fails.
TEST_F(ToldToolkit, CompilesJobByJob) {
  write_nvcc(
      "for word; do case \"$word\" in\n"
      "  --version) echo 'Cuda compilation tools, release 13.1, V13.1.80' ;;\n"
      "  -fatbin) printf '%s ' \"$word\" >> '" +
      folder_.file("log") +
      "' ;;\n"
      "  c.cu) exit 1 ;;\n"
      "  a.cu | b.cu | host_pass.cu) printf '%s ' \"$word\" >> '" +
      folder_.file("log") + "'; : > product ;;\nesac; done\n");
  auto tools = Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = "", .jobs = 1});
  ASSERT_TRUE(tools) << render(tools.error());
  CompileJob apart{"a", {}, "cu", {}, {}, {}};
  apart.compiles_apart = true;
  CompileJob failing = apart;
  failing.name = "c";
  const CompileJob jobs[] = {apart, {"b", {}, "cu", {}, {}, {}}, failing, apart};
  EXPECT_EQ(tools->compile_each(jobs).size(), 4u);
  EXPECT_EQ(*read_file(folder_.file("log")),
            "-fatbin a.cu host_pass.cu b.cu -fatbin -fatbin a.cu host_pass.cu ");
}

TEST_F(ToldToolkit, ThatIsGoneIsInTheCache) {
  const ObjectCache cache(folder_.file("cache"));
  write_nvcc("echo 'Cuda compilation tools, release 13.1, V13.1.80'\n");
  const auto there = find_cuda_compiler(cache);
  ASSERT_TRUE(there) << render(there.error());
  std::filesystem::remove(folder_.file("bin/nvcc"));
  EXPECT_FALSE(find_cuda_compiler(cache)) << "nothing was made by it";
  remember_cuda_compiler(*there, cache);
  const auto gone = find_cuda_compiler(cache);
  ASSERT_TRUE(gone) << render(gone.error());
  EXPECT_EQ(gone->nvcc, "");
  EXPECT_EQ(gone->identity, there->identity);
  EXPECT_NE(refusal(), "");
}

TEST_F(ToldToolkit, LibrariesAreKept) {
  const ObjectCache cache(folder_.file("cache"));
  const std::string answer = "echo 'Cuda compilation tools, release 13.1, V13.1.80'\n";
  write_nvcc(answer);
  remember_cuda_compiler(*find_cuda_compiler(cache), cache);
  std::filesystem::create_directories(folder_.file("lib"));
  ASSERT_TRUE(write_atomically(folder_.file("lib/x.a"), "an archive"));
  EXPECT_EQ(*read_cuda_library("x.a", cache), "an archive");
  std::filesystem::remove_all(folder_.file("lib"));
  std::filesystem::remove(folder_.file("bin/nvcc"));
  EXPECT_EQ(*read_cuda_library("x.a", cache), "an archive");
  const auto absent = read_cuda_library("y.a", cache);
  ASSERT_FALSE(absent);
  EXPECT_NE(render(absent.error()).find("and the cache has no `y.a` of its toolkit"),
            std::string::npos)
      << render(absent.error());
}

class CudaCompilerTest : public ::testing::Test {
 protected:
  CudaCompilerTest() : folder_(*TempDir::make("tessera-cuda-compiler-test")) {}
  void SetUp() override {
    if (!tessera::testing::is_there("nvcc", find_cuda_compiler().has_value())) {
      GTEST_SKIP() << "there is no nvcc on this machine";
    }
    write_header(1);
  }

  void write_header(int value) {
    const auto written = write_atomically(folder_.file("value.h"),
                                          fmt::format("constexpr float kValue = {};\n", value));
    ASSERT_TRUE(written);
  }

  // What a library needs of a model, and room for its weights.
  static CompileJob model() {
    const std::string file = TESSERA_SOURCE_DIR "/src/link/testdata/scale_model.cc";
    return {"scale", Source::trusted(*read_file(file)), "cc", {"-O2"}};
  }
  static LinkInput library_of(std::vector<std::string> objects) {
    static constexpr float kWeights[] = {1, 2, 3, 4};
    LinkInput input;
    input.objects = std::move(objects);
    input.cuda_libraries = {"libcudart_static.a"};
    input.weights = {{0, Blob::copy_of(std::as_bytes(std::span(kWeights)))}};
    input.weights_bytes = sizeof kWeights;
    return input;
  }

  CompileJob job(std::string text = kFill) const {
    return {"fill",
            Source::trusted(std::move(text)),
            "cu",
            {"-gencode=arch=compute_90a,code=sm_90a"},
            {folder_.path()},
            {"value.h"}};
  }

  Toolchain toolchain(const std::string& cache = {}) const {
    auto found = Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = cache});
    EXPECT_TRUE(found) << render(found.error());
    return *std::move(found);
  }

  TempDir folder_;
};

TEST_F(CudaCompilerTest, EqualSourcesGiveEqualObjectsAndHeadersAreInTheKey) {
  Toolchain fresh = toolchain(), cached = toolchain(folder_.file("cache"));
  const CompileJob one = job();
  const auto first = fresh.compile({&one, 1}), second = cached.compile({&one, 1});
  ASSERT_TRUE(first) << render(first.error());
  ASSERT_TRUE(second) << render(second.error());
  EXPECT_TRUE(first->front() == second->front());
  write_header(2);
  const auto third = cached.compile({&one, 1});
  ASSERT_TRUE(third) << render(third.error());
  EXPECT_FALSE(third->front() == second->front());
  CompileJob other = one;
  other.headers = {"absent.h"};
  EXPECT_FALSE(cached.compile({&other, 1}));
}

TEST_F(CudaCompilerTest, ObjectsInTheCacheNeedNone) {
  const std::string cache = folder_.file("cache");
  const CompileJob one = job(), other = job("// other\n" + std::string(kFill));
  const auto made = toolchain(cache).compile({&one, 1});
  ASSERT_TRUE(made) << render(made.error());
  const CudaHome nowhere(folder_.file("absent"));
  Toolchain tools = toolchain(cache);
  const auto found = tools.compile({&one, 1});
  ASSERT_TRUE(found) << render(found.error());
  EXPECT_TRUE(found->front() == made->front());
  for (const std::string& kept : {cache, folder_.file("empty")}) {
    const auto refused = toolchain(kept).compile({&other, 1});
    ASSERT_FALSE(refused);
    const std::string text = render(refused.error());
    EXPECT_NE(text.find("no CUDA compiler was found: there is no `"), std::string::npos) << text;
    EXPECT_EQ(text.find("the cache has no object of `fill.cu`") != std::string::npos, kept == cache)
        << text;
  }
}

TEST_F(CudaCompilerTest, TheFirstErrorIsTold) {
  const CompileJob bad = job("int f() { return unknown_thing; }\n");
  const auto compiled = toolchain().compile({&bad, 1});
  ASSERT_FALSE(compiled);
  const std::string text = render(compiled.error());
  EXPECT_NE(text.find("unknown_thing"), std::string::npos) << text;
  const std::string kept = "is kept in `";
  const std::size_t begin = text.find(kept) + kept.size();
  ASSERT_GE(begin, kept.size()) << text;
  const std::string folder = text.substr(begin, text.find('`', begin) - begin);
  EXPECT_EQ(*read_file(folder + "/fill.cu"), bad.source.text());
  std::filesystem::remove_all(folder);
}

// Each pass sees what is for it; the object has the image under the job's name.
constexpr const char* kApart = R"(
#include "value.h"
#if defined(TESSERA_DEVICE_PASS) == defined(TESSERA_HOST_PASS)
#error "one pass or the other"
#endif
#ifdef TESSERA_DEVICE_PASS
namespace { __device__ float hidden = kValue; }
extern "C" __global__ void fill_kernel(float* p) { p[threadIdx.x] = hidden; }
#else
#ifdef __CUDA_ARCH__
#error "the pass for the host has nothing for the device"
#endif
extern "C" const unsigned char fill_image[];
extern "C" __attribute__((visibility("default"))) const unsigned char* tessera_image() {
  return fill_image;
}
#endif
)";

TEST_F(CudaCompilerTest, ImagesAreCompiledApartAndJoined) {
  CompileJob apart = job(kApart);
  apart.compiles_apart = true;
  const auto first = toolchain().compile({&apart, 1});
  ASSERT_TRUE(first) << render(first.error());
  Toolchain tools = toolchain(folder_.file("cache"));
  const CompileJob jobs[] = {apart, model()};
  auto objects = tools.compile(jobs);
  ASSERT_TRUE(objects) << render(objects.error());
  EXPECT_TRUE(objects->front() == first->front()) << "equal sources, equal bytes";
  const auto linked = link_library(tools, library_of(*std::move(objects)), folder_.file("m.so"));
  ASSERT_TRUE(linked) << render(linked.error());
  void* library = dlopen(folder_.file("m.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  using Image = const unsigned char*();
  const auto image = reinterpret_cast<Image*>(dlsym(library, "tessera_image"));
  ASSERT_NE(image, nullptr);
  std::uint32_t magic = 0;
  std::memcpy(&magic, image(), sizeof magic);
  EXPECT_EQ(magic, 0xba55ed50u) << "of what holds code for devices";
  const CudaHome nowhere(folder_.file("absent"));
  EXPECT_TRUE(toolchain(folder_.file("cache")).compile({&apart, 1}));
}

TEST_F(CudaCompilerTest, WhatFailsInOnePassIsTold) {
  CompileJob good = job(kApart);
  good.compiles_apart = true;
  for (const Literal pass : {Literal("TESSERA_DEVICE_PASS"), Literal("TESSERA_HOST_PASS")}) {
    CompileJob bad = good;
    bad.source += source("#ifdef {0}\nint wrong = only_in_{0};\n#endif\n", pass);
    const CompileJob jobs[] = {bad, good};
    const auto results = toolchain().compile_each(jobs);
    ASSERT_FALSE(results[0]);
    EXPECT_TRUE(results[1]);
    const std::string text = render(results[0].error());
    EXPECT_NE(text.find(fmt::format("only_in_{}", pass)), std::string::npos) << text;
  }
}

// The CUDA runtime is inside: the library loads where there is no toolkit.
TEST_F(CudaCompilerTest, LibrariesNeedNoCudaRuntime) {
  Toolchain tools = toolchain();
  const CompileJob jobs[] = {
      job(),
      model(),
      // The linker drops what nobody calls, and exports what is called `tessera_...`.
      {"use",
       Literal("extern \"C\" int tessera_fill(float*);\n"
               "extern \"C\" __attribute__((visibility(\"default\"))) int tessera_use() "
               "{ return tessera_fill(nullptr); }\n"),
       "cc",
       {}}};
  auto objects = tools.compile(jobs);
  ASSERT_TRUE(objects) << render(objects.error());
  const auto linked = link_library(tools, library_of(*std::move(objects)), folder_.file("m.so"));
  ASSERT_TRUE(linked) << render(linked.error());
  const auto file = read_library_file(folder_.file("m.so"));
  ASSERT_TRUE(file) << render(file.error());
  for (const std::string& needed : file->needed) {
    EXPECT_EQ(needed.find("cuda"), std::string::npos) << needed;
    EXPECT_EQ(needed.find("stdc++"), std::string::npos) << needed;
  }
  EXPECT_TRUE(std::binary_search(file->exported.begin(), file->exported.end(), "tessera_use"));
}

}  // namespace
}  // namespace tessera::link
