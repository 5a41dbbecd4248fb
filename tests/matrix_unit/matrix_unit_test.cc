// SPDX-License-Identifier: Apache-2.0
// Products by a CPU's matrix unit, which is emulated here: kernels as they are made for a CPU with
// one give what `eval` gives, exactly where they are of bytes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "emit/kernel.h"
#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "schedule/schedule.h"
#include "tessera/call.h"
#include "tir/print.h"
#include "tir/verify.h"
#include "tir/verify_bounds.h"
#include "tir/verify_buffer.h"

namespace tessera {
namespace {

namespace run = lower::testing;

// With AVX-512; all is worth a thread, so that loops are parallel.
schedule::Machine with_unit() {
  schedule::Machine machine{64, 32, 128 << 10, 0, 0, 2, 2};
  machine.has_matrix_unit = true;
  return machine;
}

// The parts in which the test's own runtime runs a parallel loop, out of order.
constexpr const char* kParallelFor = R"(
extern "C" int32_t tessera_parallel_for(const tessera_call*, int64_t n, tessera_range_fn fn,
                                        void* closure) {
  const int64_t third = n / 3;
  if (fn(closure, 2 * third, n, 2) != 0) return 1;
  if (fn(closure, 0, third, 0) != 0) return 1;
  return fn(closure, third, 2 * third, 1);
}
)";

// `?n` of the function has this value; 0: it has none.
struct Case {
  const char* text;
  std::int64_t n = 0;
  bool is_constant = true;  // the second operand
  bool by_unit = true;      // all of the product
};

std::string with_size(std::string text, std::int64_t n) {
  for (std::size_t at = 0; (at = text.find("?n", at)) != text.npos;) {
    text.replace(at, 2, std::to_string(n));
  }
  return text;
}

constexpr Case kCases[] = {
    // Whole tiles, and those that are not: rows, columns, terms.
    {"nn.dense(uint8[64,128], int8[64,128], units=64, out_dtype=\"int32\")"},
    {"nn.dense(uint8[33,100], int8[50,100], units=50, out_dtype=\"int32\")"},
    {"nn.dense(int8[17,67], int8[33,67], units=33, out_dtype=\"int32\")"},
    {"nn.dense(int8[2,259], uint8[49,259], units=49, out_dtype=\"int32\")"},
    {"nn.dense(uint8[49,64], uint8[20,64], units=20, out_dtype=\"int32\")"},
    {"nn.matmul(uint8[40,31], int8[31,90], units=90, out_dtype=\"int32\")"},
    {"nn.dense(bfloat16[64,96], bfloat16[64,96], units=64)"},
    {"nn.dense(bfloat16[37,75], bfloat16[51,75], units=51)"},
    {"nn.dense(bfloat16[2,300], bfloat16[33,300], units=33, out_dtype=\"float32\")"},
    {"nn.matmul(bfloat16[50,17], bfloat16[17,65], units=65)"},
    // Few terms fill no step: not by the unit.
    {"nn.dense(int8[40,12], int8[40,12], units=40, out_dtype=\"int32\")", 0, true, false},
    // What is packed in each run.
    {"nn.dense(uint8[33,100], int8[50,100], units=50, out_dtype=\"int32\")", 0, false},
    {"nn.batch_matmul(bfloat16[3,20,16], bfloat16[3,16,36], transpose_b=False)", 0, false},
    {"nn.batch_matmul(bfloat16[3,33,19], bfloat16[3,35,19], transpose_b=True)", 0, false},
    {"nn.batch_matmul(int8[2,20,67], int8[2,67,36], transpose_b=False, out_dtype=\"int32\")", 0,
     false},
    // Open rows, none among them.
    {"def @main(%x: Tensor[(?n, 70), uint8], %w: Tensor[(40, 70), int8]) {\n"
     "  nn.dense(%x, %w, units=40, out_dtype=\"int32\")\n}\n",
     40, true, false},  // too few columns for threads
    {"def @main(%x: Tensor[(?n, 70), uint8], %w: Tensor[(128, 70), uint8]) {\n"
     "  nn.dense(%x, %w, units=128, out_dtype=\"int32\")\n}\n",
     0},
    {"def @main(%x: Tensor[(?n, 70), uint8], %w: Tensor[(70, 130), int8]) {\n"
     "  nn.matmul(%x, %w, units=130, out_dtype=\"int32\")\n}\n",
     1},
    {"def @main(%x: Tensor[(?n, 70), uint8], %w: Tensor[(140, 70), int8]) {\n"
     "  nn.dense(%x, %w, units=140, out_dtype=\"int32\")\n}\n",
     75},
    {"def @main(%x: Tensor[(?n, 2, 45), bfloat16], %w: Tensor[(140, 45), bfloat16],"
     " %b: Tensor[(140), bfloat16]) {\n"
     "  nn.relu(add(nn.dense(%x, %w, units=140), %b))\n}\n",
     41},
    // Convolutions: terms are channels, which lie last in a copy of the image.
    {"nn.conv2d(bfloat16[1,20,9,11], bfloat16[40,20,3,3], padding=[1,1,1,1])"},
    {"nn.conv2d(bfloat16[2,33,12,9], bfloat16[17,33,3,2], strides=[2,1], padding=[1,0,2,1])"},
    {"nn.conv2d(uint8[1,67,7,8], int8[34,67,1,1], out_dtype=\"int32\")"},
    {"nn.conv2d(int8[1,9,10,18], int8[20,3,3,18], padding=[1,1,1,1], out_dtype=\"int32\", "
     "data_layout=\"NHWC\", kernel_layout=\"OHWI\")"},
    // What follows on the sums.
    {"def @main(%x: Tensor[(35, 80), uint8], %w: Tensor[(48, 80), int8],"
     " %b: Tensor[(48), int32]) {\n"
     "  %0 = add(nn.dense(%x, %w, units=48, out_dtype=\"int32\"), %b);\n"
     "  %1 = multiply(cast(%0, dtype=\"float32\"), 0.01f);\n"
     "  cast(clip(round(%1), a_min=-128f, a_max=127f), dtype=\"int8\")\n}\n"}};

// A case as a kernel, with inputs and what they give.
struct Prepared {
  tir::PrimFunc kernel;
  std::vector<Tensor> inputs, wanted;
  std::vector<std::int64_t> dims;
};

Prepared prepared(const Case& c) {
  const bool is_open = std::string_view(c.text).find("?n") != std::string_view::npos;
  const relay::Function f = run::function_of(c.text);
  const relay::Function sized = run::function_of(with_size(c.text, c.n));
  Prepared out;
  out.inputs = run::inputs_of(sized, 7);
  out.wanted = run::evaluated(sized, out.inputs);
  auto plain = lower::lower_primitive(f, relay::Function::kBody, {});
  TESSERA_CHECK(plain.has_value(), "{}", render(plain.error()));
  std::vector<tir::Buffer> constants;
  if (c.is_constant) constants.push_back(plain->inputs[1]);
  schedule::ScheduledKernel s = schedule::schedule_kernel(*plain, with_unit(), constants);
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < plain->inputs.size(); ++i) {
    const auto& left = s.kernel.inputs;
    if (std::ranges::find(left, plain->inputs[i]) != left.end()) given.push_back(out.inputs[i]);
  }
  for (const schedule::MadeConstant& m : s.made) given.push_back(*m.make(out.inputs[1]));
  out.inputs = std::move(given);
  out.kernel = std::move(s.kernel);
  if (is_open) out.dims.assign(out.kernel.dims.size(), c.n);
  return out;
}

std::string name_of(std::size_t number) { return fmt::format("k{:02}", number); }

class MatrixUnit : public ::testing::Test {
 protected:
  MatrixUnit() {
    std::string pattern = ::testing::TempDir() + "tessera_unit_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::map<std::string, tir::PrimFunc> kernels;
    for (const Case& c : kCases) {
      cases_.push_back(prepared(c));
      kernels.emplace(name_of(kernels.size()), without_temporaries(cases_.back().kernel));
    }
    text_ = emit::emit_kernels(kernels).text();
    std::ofstream(folder_ + "/k.cc") << text_ << kParallelFor;
  }
  ~MatrixUnit() override { std::filesystem::remove_all(folder_); }

  // Memory of a kernel that host programs provide is an input of it here, too.
  static tir::PrimFunc without_temporaries(tir::PrimFunc f) {
    while (const auto* allocate = f.body.as<tir::Allocate>()) {
      if (allocate->buffer->scope != tir::MemoryScope::kGlobal) break;
      f.inputs.push_back(allocate->buffer);
      f.body = tir::Stmt(allocate->body);
    }
    return f;
  }

  int compile(const std::string& compiler, const std::string& flags) const {
    std::string command = fmt::format("{} -Wall -Wextra -Werror -I{}/include {} {}/k.cc", compiler,
                                      TESSERA_SOURCE_DIR, flags, folder_);
    for (const auto flag : emit::kKernelFlags) command += " " + std::string(flag);
    return std::system(command.c_str());
  }

  std::string folder_, text_;
  std::vector<Prepared> cases_;
};

std::vector<Tensor> run_in(void* library, const std::string& name, const Prepared& p) {
  const auto kernel = reinterpret_cast<tessera_kernel_fn>(dlsym(library, name.c_str()));
  TESSERA_CHECK(kernel != nullptr, "there is no `{}`", name);
  std::vector<std::vector<std::byte>> memory;
  for (const Tensor& t : p.inputs) {
    memory.emplace_back(t.blob->bytes().begin(), t.blob->bytes().end());
  }
  // NaN for whoever reads of it what was not written.
  tir::Stmt body = p.kernel.body;
  while (const auto* allocate = body.as<tir::Allocate>()) {
    if (allocate->buffer->scope != tir::MemoryScope::kGlobal) break;
    memory.emplace_back(static_cast<std::size_t>(tir::constant_bytes(allocate->buffer)),
                        std::byte{0xff});
    body = tir::Stmt(allocate->body);
  }
  const std::size_t first_result = memory.size();
  for (const Tensor& t : p.wanted) {
    memory.emplace_back(t.blob->bytes().size(), std::byte{0x5a});
  }
  std::vector<void*> pointers;
  for (auto& m : memory) {
    m.reserve(1);
    pointers.push_back(m.data());
  }
  tessera_call call{};
  EXPECT_EQ(kernel(pointers.data(), p.dims.data(), &call), 0) << name;
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < p.wanted.size(); ++i) {
    results.emplace_back(p.wanted[i].shape, p.wanted[i].dtype,
                         Blob::adopt(std::move(memory[first_result + i])));
  }
  return results;
}

TEST_F(MatrixUnit, ComputesWhatEvalGives) {
  const std::string flags = fmt::format(
      "-shared -fPIC -march=native -DTK_TILE_UNIT='\"{}/src/emit/testing/"
      "tile_emulation.h\"' -o {}/k.so",
      TESSERA_SOURCE_DIR, folder_);
  ASSERT_EQ(compile("g++", flags), 0) << text_;
  void* library = dlopen((folder_ + "/k.so").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const std::string shown = fmt::format("{} n={}\n{}", kCases[i].text, kCases[i].n,
                                          tir::print(cases_[i].kernel, name_of(i)));
    const std::vector<Tensor> first = run_in(library, name_of(i), cases_[i]);
    run::expect_close(cases_[i].wanted, first, shown);
    EXPECT_TRUE(first == run_in(library, name_of(i), cases_[i])) << "other bits\n" << shown;
    if (!first[0].dtype.is_float()) {
      EXPECT_TRUE(first == cases_[i].wanted) << shown;
    }
  }
  dlclose(library);
}

TEST_F(MatrixUnit, IsUsedWhereThereAreEnoughTerms) {
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const tir::PrimFunc f = without_temporaries(cases_[i].kernel);
    const std::string text = emit::emit_kernel(f, name_of(i)).text();
    EXPECT_EQ(text.find("tk::TileProduct") != text.npos, kCases[i].by_unit) << text;
    EXPECT_EQ(text.find(".load()"), text.npos) << "zeros are written and read again\n" << text;
  }
}

TEST_F(MatrixUnit, KernelsAreValidAndReadNothingElse) {
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const std::string text = tir::print(cases_[i].kernel, name_of(i));
    const auto valid = tir::verify(cases_[i].kernel, "kernel");
    EXPECT_TRUE(valid.has_value()) << render(valid.error()) << text;
    EXPECT_EQ(tir::unproven_accesses(cases_[i].kernel), std::vector<std::string>{}) << text;
  }
}

#if defined(__x86_64__)
// Wherever this runs.
TEST_F(MatrixUnit, CompilesToItsInstructions) {
  for (const char* compiler : {"g++", "clang++-14"}) {
    if (std::system(fmt::format("{} --version > /dev/null 2>&1", compiler).c_str()) != 0) continue;
    const std::string file = folder_ + "/k.s";
    ASSERT_EQ(compile(compiler, "-S -march=sapphirerapids -o " + file), 0) << compiler;
    std::ifstream in(file);
    const std::string assembly((std::istreambuf_iterator<char>(in)), {});
    for (const char* instruction : {"ldtilecfg", "tileloadd", "tilestored", "tilerelease",
                                    "tdpbf16ps", "tdpbssd", "tdpbusd", "tdpbsud", "tdpbuud"}) {
      EXPECT_NE(assembly.find(instruction), assembly.npos) << compiler << " " << instruction;
    }
  }
}
#endif

}  // namespace
}  // namespace tessera
