// SPDX-License-Identifier: Apache-2.0
#include "emit/kernel.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <list>
#include <map>
#include <regex>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emit/testing/testdata.h"
#include "support/check.h"
#include "support/f16.h"
#include "support/testing/golden.h"
#include "tessera/call.h"
#include "tir/interpret.h"
#include "tir/print.h"
#include "tir/random_function.h"
#include "tir/simplify.h"
#include "tir/verify.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

// A folder that goes away with the test.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = ::testing::TempDir() + "tessera_emit_XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

// The three parts in which the test's own runtime runs a parallel loop, out of order.
constexpr const char* kParallelFor = R"(
extern "C" int32_t tessera_parallel_for(const tessera_call*, int64_t n, tessera_range_fn fn,
                                        void* closure) {
  const int64_t third = n / 3;
  if (fn(closure, 2 * third, n, 2) != 0) return 1;
  if (fn(closure, 0, third, 0) != 0) return 1;
  return fn(closure, third, 2 * third, 1);
}
)";

// A compiled translation unit, loaded.
class Library {
 public:
  Library(const std::string& text, const std::string& warnings) {
    std::ofstream(folder_.path + "/k.cc") << text << kParallelFor;
    std::string command = "g++ -shared -fPIC -march=native -I" TESSERA_SOURCE_DIR "/include " +
                          warnings + " -o " + folder_.path + "/k.so " + folder_.path + "/k.cc";
    for (const auto flag : kKernelFlags) command += " " + std::string(flag);
    EXPECT_EQ(std::system(command.c_str()), 0) << text;
    handle_ = dlopen((folder_.path + "/k.so").c_str(), RTLD_NOW);
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() { dlclose(handle_); }
  tessera_kernel_fn kernel(const std::string& symbol) {
    return reinterpret_cast<tessera_kernel_fn>(dlsym(handle_, symbol.c_str()));
  }

 private:
  TemporaryFolder folder_;
  void* handle_ = nullptr;
};

double read_element(const std::byte* p, DType t) {
  const auto as = [&]<class T>(T) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  if (t == kFloat32) return as(float{});
  if (t == kFloat64) return as(double{});
  if (t == kFloat16) return float16_value(as(std::uint16_t{}));
  if (t == kBFloat16) return bfloat16_value(as(std::uint16_t{}));
  if (t == kInt64) return static_cast<double>(as(std::int64_t{}));
  if (t == kInt32) return as(std::int32_t{});
  return as(std::int8_t{});
}

// Memory for the parameters of a kernel: inputs filled with small values, outputs with 1s.
struct Arguments {
  Arguments(const tir::PrimFunc& f, std::int64_t dim) {
    const auto add = [&](const tir::Buffer& b, bool input) {
      std::int64_t size = 1;
      for (const auto& e : b->shape) size *= tir::as_int(e) != nullptr ? *tir::as_int(e) : dim;
      std::vector<double> values(static_cast<std::size_t>(size), 1);
      for (std::size_t i = 0; input && i < values.size(); ++i) {
        values[i] = b->dtype.is_float() ? std::sin(static_cast<double>(i)) * 3
                                        : static_cast<double>(i * 5 % 11) - 5;
      }
      const Tensor t = tensor_from_doubles({size}, b->dtype, values);
      memory.emplace_back(t.blob->bytes().begin(), t.blob->bytes().end());
      dtypes.push_back(b->dtype);
    };
    for (const auto& b : f.inputs) add(b, true);
    for (const auto& b : f.outputs) add(b, false);
    for (auto& m : memory) pointers.push_back(m.data());
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<DType> dtypes;
  std::vector<void*> pointers;
};

void expect_near(const Arguments& got, const Arguments& want) {
  for (std::size_t b = 0; b < want.memory.size(); ++b) {
    const DType t = want.dtypes[b];
    const double tolerance = !t.is_float() ? 0 : t.bits == 16 ? 1e-2 : 3e-6;
    const auto size = static_cast<std::size_t>(t.size_bytes());
    for (std::size_t i = 0; i * size < want.memory[b].size(); ++i) {
      const double x = read_element(&got.memory[b][i * size], t);
      const double y = read_element(&want.memory[b][i * size], t);
      ASSERT_NEAR(x, y, tolerance * std::max(1.0, std::abs(y))) << "buffer " << b << " at " << i;
    }
  }
}

struct KernelTest : ::testing::TestWithParam<const char*> {};

TEST_P(KernelTest, TextIsTheGolden) {
  const auto parsed = parse_testdata(std::string(GetParam()) + ".tir");
  const std::string text = emit_kernels({{parsed.name, parsed.func}}).text();
  tessera::testing::expect_golden(testdata_path(std::string(GetParam()) + ".golden.cc"), text);
}

TEST_P(KernelTest, CompiledEqualsInterpreted) {
  const auto parsed = parse_testdata(std::string(GetParam()) + ".tir");
  const std::vector<std::int64_t> dims(parsed.func.dims.size(), 7);
  Arguments want(parsed.func, 7);
  tir::interpret(parsed.func, want.pointers, dims);
  Library library(read_testdata(std::string(GetParam()) + ".golden.cc"), "-Wall -Wextra -Werror");
  Arguments got(parsed.func, 7);
  const auto kernel = library.kernel(parsed.name);
  ASSERT_NE(kernel, nullptr);
  tessera_call call{};
  ASSERT_EQ(kernel(got.pointers.data(), dims.data(), &call), 0);
  expect_near(got, want);
}

// Exact integer arithmetic of every width, in functions that have a defined result.
TEST(KernelFuzz, CompiledIntegersEqualInterpreted) {
  std::map<std::string, tir::PrimFunc> functions;
  std::map<std::string, Arguments> wanted;
  for (std::uint32_t seed = 0; functions.size() < 40 && seed < 400; ++seed) {
    tir::RandomFunctions random(seed);
    random.types = {kInt64, kInt32, kInt8, kUInt8, kBool};
    random.plain = true;
    const tir::PrimFunc f = random.function();
    Arguments arguments(f, 0);
    const std::vector<std::int64_t> dims(f.dims.size(), 3);
    try {
      tir::interpret(f, arguments.pointers, dims);
    } catch (const InternalError&) {
      continue;  // overflow: undefined in both
    }
    const std::string name = fmt::format("f{}", seed);
    functions[name] = seed % 2 == 0 ? f : simplify(f);
    wanted.emplace(name, std::move(arguments));
  }
  ASSERT_EQ(functions.size(), 40u);
  // What random text does, `x == x` for instance, compilers warn of.
  Library library(emit_kernels(functions).text(), "-w");
  for (const auto& [name, f] : functions) {
    Arguments got(f, 0);
    const std::vector<std::int64_t> dims(f.dims.size(), 3);
    tessera_call call{};
    ASSERT_EQ(library.kernel(name)(got.pointers.data(), dims.data(), &call), 0);
    EXPECT_EQ(got.memory, wanted.at(name).memory)
        << tir::print(f, name) << emit_kernel(f, name).text();
  }
}

// Where it makes vectors, g++ takes the square root, which is NaN of minus infinity and -0 of -0.
TEST(KernelText, PowersOfAHalfAreNoSquareRoots) {
  const auto parsed = parse_testdata("half_power.tir");
  Library library((kernel_prologue() + "\n" + emit_kernel(parsed.func, parsed.name)).text(), "");
  std::vector<float> x(64, 4), y(64);
  x[0] = -std::numeric_limits<float>::infinity();
  x[1] = -0.0f;
  x[2] = -4;
  void* pointers[] = {x.data(), y.data()};
  tessera_call call{};
  ASSERT_EQ(library.kernel(parsed.name)(pointers, nullptr, &call), 0);
  EXPECT_EQ(y[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(y[1] == 0 && !std::signbit(y[1]));
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 2);
}

// Memory of this size that ends where a page ends that nobody may touch.
struct AtPageEnd {
  explicit AtPageEnd(const std::vector<std::byte>& content) {
    mapping = ::mmap(nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(::mprotect(mapping, kPage, PROT_READ | PROT_WRITE), 0);
    data = static_cast<std::byte*>(mapping) + kPage - content.size();
    std::memcpy(data, content.data(), content.size());
  }
  AtPageEnd(const AtPageEnd&) = delete;
  ~AtPageEnd() { ::munmap(mapping, 2 * kPage); }
  static constexpr std::size_t kPage = 1 << 16;
  void* mapping;
  std::byte* data;
};

TEST(KernelGuards, ReadNothingBehindATensor) {
  const auto parsed = parse_testdata("guards.tir");
  Arguments want(parsed.func, 0);
  tir::interpret(parsed.func, want.pointers, {});
  Library library(read_testdata("guards.golden.cc"), "");
  Arguments got(parsed.func, 0);
  std::list<AtPageEnd> guarded;
  std::vector<void*> pointers;
  for (const auto& memory : got.memory) pointers.push_back(guarded.emplace_back(memory).data);
  tessera_call call{};
  ASSERT_EQ(library.kernel(parsed.name)(pointers.data(), nullptr, &call), 0);
  auto from = guarded.begin();
  for (auto& memory : got.memory) std::memcpy(memory.data(), from++->data, memory.size());
  expect_near(got, want);
}

#if defined(__x86_64__)
// Wherever this runs: g++ 12 would read a whole vector and choose of it what it knows is there.
TEST(KernelGuards, HaveMasksThatNoCompilerKnows) {
  const TemporaryFolder folder;
  const std::string assembly = folder.path + "/k.s";
  std::string command = "g++ -S -march=skylake-avx512 -I" TESSERA_SOURCE_DIR "/include -o " +
                        assembly + " " + testdata_path("guards.golden.cc");
  for (const auto flag : kKernelFlags) command += " " + std::string(flag);
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::regex blend_of_memory(R"(vp?blend[a-z0-9]+\s+\$[0-9]+, [^,]*\()");
  EXPECT_FALSE(std::regex_search(*read_file(assembly), blend_of_memory));
}
#endif

#if defined(__x86_64__)
// Three quantisations in a row: every division of the loop is one of vectors.
TEST(KernelFlags, MakeVectorsOfSelectionsInARow) {
  const TemporaryFolder folder;
  const std::string assembly = folder.path + "/k.s";
  std::string command = "g++ -S -march=x86-64-v3 -I" TESSERA_SOURCE_DIR "/include -o " + assembly +
                        " " + testdata_path("requantize.golden.cc");
  for (const auto flag : kKernelFlags) command += " " + std::string(flag);
  for (const auto flag : kKernelFlagsOfGcc) command += " " + std::string(flag);
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string text = *read_file(assembly);
  EXPECT_NE(text.find("vdivps"), std::string::npos);
  EXPECT_EQ(text.find("vdivss"), std::string::npos);
}
#endif

// What ends a parallel loop ends the kernel, and says more than that it failed.
TEST(KernelText, OfAConditionInAParallelLoop) {
  const auto parsed = parse_testdata("check_indices.tir");
  const auto legal = tir::verify(parsed.func, parsed.name);
  ASSERT_TRUE(legal) << render(legal.error());
  tessera::testing::expect_golden(
      testdata_path("check_indices.golden.cc"),
      (kernel_prologue() + "\n" + emit_kernel(parsed.func, parsed.name)).text());
}

// Schedules for a CPU with a matrix unit are goldens of their own.
TEST(KernelText, OfTheMatrixUnit) {
  for (const std::string name : {"dense_unit", "dense_unit_bfloat16"}) {
    const auto parsed = parse_testdata("../../schedule/testdata/" + name + ".tir");
    const std::string text = emit_kernels({{parsed.name, parsed.func}}).text();
    EXPECT_NE(text.find("tk::TileProduct"), text.npos);
    tessera::testing::expect_golden(testdata_path(name + ".golden.cc"), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, KernelTest,
                         ::testing::Values("softmax", "matmul", "panel", "mixed", "guards",
                                           "requantize", "pairs", "map_bytes", "byte_rows",
                                           "open_reshape"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::emit
