// SPDX-License-Identifier: Apache-2.0
// All samples of all operators are entries of one kernel library. Prints the support matrix. On a
// device the samples that a back end takes are, too.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/table.h"
#include "byoc/placer.h"
#include "driver/entries.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "ops/samples/samples.h"

namespace tessera {
namespace {

constexpr std::uint64_t kSeed = 7;

// Marks are only for the passes, and what no loop expresses is the runtime's.
bool has_loops(const relay::Operator& op) { return op.compute != nullptr; }

// The samples as functions of one module.
struct Samples {
  Module module;
  std::map<std::string, ops::Sample> by_entry;
  std::map<std::string, const relay::Operator*> operators;
};

bool takes_float32_alone(const relay::Operator& op) {
  return op.name.starts_with("qnn.") || op.name == "vision.all_class_non_max_suppression";
}

// The first sample of float32 in the 16-bit types, too: what --precision makes of operators.
std::vector<std::string> texts_of(const relay::Operator& op) {
  std::vector<std::string> texts(op.samples.begin(), op.samples.end());
  const auto wide = std::find_if(texts.begin(), texts.end(), [](const std::string& text) {
    return text.find("float32") != text.npos;
  });
  if (wide == texts.end() || takes_float32_alone(op)) return texts;
  const std::string float32 = *wide;
  for (const DType low : {kFloat16, kBFloat16}) {
    std::string text = float32;
    for (std::size_t at = 0; (at = text.find("float32", at)) != text.npos;) {
      text.replace(at, 7, to_string(low));
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

Samples all_samples() {
  Samples out;
  for (const relay::Operator* op : ops::operators().all()) {
    if (!has_loops(*op)) continue;
    int number = 0;
    for (const std::string& text : texts_of(*op)) {
      ops::Sample sample = ops::parse_sample(text);
      if (is_dynamic(sample.function.type(sample.function.result()))) continue;
      std::string entry = fmt::format("{}_{}", op->name, number++);
      std::replace(entry.begin(), entry.end(), '.', '_');  // regions make symbols of it
      out.module.functions.emplace(entry, sample.function);
      out.operators.emplace(entry, op);
      out.by_entry.emplace(entry, std::move(sample));
    }
  }
  return out;
}

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(render(result.error()));
  return *std::move(result);
}

struct Tools {
  int jobs;
  link::Toolchain toolchain;
  driver::MachineCode code;
};
// Quickly compiled, for this machine; in large units, because each reads the same headers.
Tools find_tools() {
  const auto jobs = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  const char* root = std::getenv("TESSERA_ROOT");  // on another machine than the one of the build
  const std::string folder = root != nullptr ? root : TESSERA_BUILD_DIR;
  auto toolchain = value_of(link::Toolchain::find(
      {.root = folder, .cache_folder = folder + "/testdata/cache", .jobs = jobs}));
  driver::MachineCode code = value_of(driver::machine_code(Target(), toolchain.compiler()));
  std::replace(code.flags.begin(), code.flags.end(), std::string("-O3"), std::string("-O1"));
  code.kernels_per_unit = 40;
  return {jobs, std::move(toolchain), std::move(code)};
}

driver::EntryLibrary build(Module module, const Target& target, Tools& tools) {
  module.targets = {target};
  return value_of(
      driver::EntryLibrary::build(std::move(module), target, tools.code, tools.toolchain));
}

std::string dtype_of(const ops::Sample& sample) {
  const auto& f = sample.function;
  const Type type = f.params().empty() ? f.type(f.result()) : f.type(f.params()[0]);
  return to_string(flatten(type).front().dtype());
}

// Rows are operators, columns the dtypes of first operands: samples that agree of those there are.
class SupportMatrix {
 public:
  void add(std::string_view op, const std::string& dtype, bool agrees) {
    auto& [good, all] = cells_[std::string(op)][dtype];
    good += agrees ? 1 : 0;
    ++all;
    dtypes_.insert(dtype);
  }

  void print(const std::string& what) const {
    fmt::print("{:<28}", what);
    for (const std::string& dtype : dtypes_) fmt::print(" {:>8}", dtype);
    fmt::print("\n");
    for (const auto& [op, row] : cells_) {
      fmt::print("{:<28}", op);
      for (const std::string& dtype : dtypes_) {
        const auto cell = row.find(dtype);
        fmt::print(" {:>8}", cell == row.end()
                                 ? std::string(".")
                                 : fmt::format("{}/{}", cell->second.first, cell->second.second));
      }
      fmt::print("\n");
    }
  }

 private:
  std::map<std::string, std::map<std::string, std::pair<int, int>>> cells_;
  std::set<std::string> dtypes_;
};

bool agrees_with_reference(const Module& module, const ops::Sample& sample, exec::Session& session,
                           const std::vector<Tensor>& inputs) {
  const auto wanted = ops::evaluate(module, sample.function, inputs);
  const auto found = session.run(inputs);
  EXPECT_TRUE(found) << sample.text << ": " << render(found.error());
  if (!found) return false;
  EXPECT_EQ(found->size(), wanted.size()) << sample.text;
  bool agrees = found->size() == wanted.size();
  for (std::size_t i = 0; agrees && i < wanted.size(); ++i) {
    const double tolerance = ops::operator_tolerance(wanted[i].dtype);
    const std::string differs = ops::first_difference((*found)[i], wanted[i], tolerance);
    EXPECT_EQ(differs, "") << sample.text << ", result " << i;
    agrees = differs.empty();
  }
  return agrees;
}

using Keeps = bool (*)(const ops::Sample&);

// With infinities and NaN, too, where the code keeps them.
void compare(
    const Samples& samples, const driver::EntryLibrary& library, const std::string& what,
    Keeps keeps_infinities = [](const ops::Sample&) { return true; }) {
  SupportMatrix matrix;
  for (const auto& named : samples.by_entry) {
    const std::string& entry = named.first;
    const ops::Sample& sample = named.second;
    const relay::Operator& op = *samples.operators.at(entry);
    const auto session = value_of(library.open(entry, {.threads = 2}));
    const auto agrees = [&](const std::vector<Tensor>& inputs) {
      return agrees_with_reference(samples.module, sample, *session, inputs);
    };
    bool good = agrees(ops::random_inputs(sample, kSeed));
    if (ops::defines_special_values(op) && keeps_infinities(sample)) {
      good = agrees(ops::special_inputs(sample, kSeed)) && good;
    }
    matrix.add(op.name, dtype_of(sample), good);
  }
  matrix.print(what);
}

void compare_all_samples(const Target& target) {
  const Samples samples = all_samples();
  ASSERT_GT(samples.by_entry.size(), 300u);
  Tools tools = find_tools();
  const driver::EntryLibrary library = build(samples.module, target, tools);
  ASSERT_EQ(library.names().size(), samples.by_entry.size());
  compare(samples, library, "native, " + target.name());
}

// Three products of tf32 stand for one of float32: what is left of an infinite factor after its
// first part is no number, which docs/backends.md says.
bool is_no_sum_of_tf32(const ops::Sample& sample) { return dtype_of(sample) != "float32"; }

// The samples of which the back end takes something, on the device.
void compare_taken_samples(const byoc::Backend& backend, const Target& target) {
  Samples samples = all_samples();
  const Module reference = samples.module;
  const byoc::BackendChoice choices[] = {{&backend, target}};
  auto outcome = value_of(byoc::partition_greedy(samples.module, choices));
  std::erase_if(samples.by_entry, [&](const auto& named) {
    const relay::Function& f = outcome.module.functions.at(named.first);
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (f.as<relay::GlobalRef>(relay::NodeId{i}) != nullptr) return false;
    }
    outcome.module.functions.erase(named.first);
    return true;
  });
  fmt::print("{} takes something of {} of {} samples\n", backend.name(), samples.by_entry.size(),
             reference.functions.size());
  std::fflush(stdout);
  EXPECT_GE(samples.by_entry.size(), 5u);
  Tools tools = find_tools();
  outcome.module = value_of(ops::infer_types(std::move(outcome.module)));
  byoc::CompileContext context{tools.toolchain, tools.jobs, true, {}};
  outcome = value_of(byoc::compile_backends(std::move(outcome), choices, context));
  const driver::EntryLibrary library =
      build(value_of(ops::infer_types(std::move(outcome.module))), Target("cuda"), tools);
  compare(samples, library, std::string(backend.name()) + ", cuda", is_no_sum_of_tf32);
}

// Why kernels for CUDA cannot run here; "" if they can.
std::string without_device() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return "there is no NVIDIA driver";
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int count = 0;
  if (init == nullptr || count_devices == nullptr || init(0) != 0 || count_devices(&count) != 0 ||
      count == 0) {
    return "there is no GPU";
  }
  return "";
}

TEST(Conformance, NativeAgreesWithTheReference) { compare_all_samples(Target()); }

TEST(Conformance, NativeAgreesWithTheReferenceOnCuda) {
  if (const std::string reason = without_device(); !reason.empty()) GTEST_SKIP() << reason;
  compare_all_samples(Target("cuda"));
}

class BackendsOnCuda : public ::testing::TestWithParam<const byoc::Backend*> {};

TEST_P(BackendsOnCuda, AgreeWithTheReferenceOnCuda) {
  if (const std::string reason = without_device(); !reason.empty()) GTEST_SKIP() << reason;
  const Target target(GetParam()->name());
  if (const auto missing = GetParam()->available(target)) GTEST_SKIP() << missing->reason;
  compare_taken_samples(*GetParam(), target);
  // Norms are such, and convolutions have these engines beside others.
  if (target.name() == "cudnn") {
    compare_taken_samples(*GetParam(), target.with("runtime_engines", true));
  }
}

std::vector<const byoc::Backend*> of_devices() {
  std::vector<const byoc::Backend*> found;
  for (const byoc::Backend* backend : backends::all_backends()) {
    if (Target(backend->name()).device() == DeviceType::kCuda) found.push_back(backend);
  }
  return found;
}
INSTANTIATE_TEST_SUITE_P(All, BackendsOnCuda, ::testing::ValuesIn(of_devices()),
                         [](const auto& info) { return std::string(info.param->name()); });

}  // namespace
}  // namespace tessera
