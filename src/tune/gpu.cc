// SPDX-License-Identifier: Apache-2.0
#include "tune/gpu.h"

#include <cstdio>
#include <sstream>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

#include "byoc/workload.h"
#include "runtime/device_arch.h"
#include "runtime/visible_devices.h"
#include "support/child.h"

namespace tessera::tune {
namespace {

// The driver's C interface, as far as it is asked.
using Init = int(unsigned flags);
using GetCount = int(int* count);
using GetName = int(char* name, int bytes, int device);
using GetAttribute = int(int* value, int attribute, int device);
constexpr int kMultiprocessors = 16, kCacheBytes = 38, kMajor = 75, kMinor = 76;

constexpr const char* kRemedy =
    "measure on the machine with the GPU (`tessera tune MODEL --records FILE`), and compile here "
    "with --records FILE";

Unexpected<Diagnostics> no_gpu(const std::string& why) {
  return fail(
      error(Code::kBackendMissing, {}, "measuring needs a GPU: {}", why).with_remedy(kRemedy));
}

template <class Function>
Function* function(void* driver, const char* name) {
  return reinterpret_cast<Function*>(dlsym(driver, name));
}

std::string architecture_of(const std::string& device) {
  return device.substr(0, device.find(' '));
}

// What the driver says of the first GPU.
struct Driver {
  GetName* get_name = nullptr;
  GetAttribute* get = nullptr;
};

Result<Driver> find_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);  // stays open: it does not like to be closed
  if (driver == nullptr) {
    return no_gpu("there is no NVIDIA driver on this machine (`libcuda.so.1` was not found)");
  }
  auto* init = function<Init>(driver, "cuInit");
  auto* get_count = function<GetCount>(driver, "cuDeviceGetCount");
  const Driver found = {function<GetName>(driver, "cuDeviceGetName"),
                        function<GetAttribute>(driver, "cuDeviceGetAttribute")};
  if (init == nullptr || get_count == nullptr || !found.get_name || !found.get) {
    return no_gpu("`libcuda.so.1` is not a driver of NVIDIA's");
  }
  int count = 0;
  if (init(0) != 0 || get_count(&count) != 0 || count == 0) {
    const char* shown = runtime::visible_devices();
    if (shown == nullptr) return no_gpu("there is a driver, but no NVIDIA GPU that it can use");
    char why[256];
    std::snprintf(why, sizeof why, runtime::kNoneVisible, shown);
    return no_gpu(why);
  }
  return found;
}

Result<Gpu> ask_driver() {
  TESSERA_TRY(const Driver driver, find_driver());
  const auto& [get_name, get] = driver;
  Gpu gpu;
  char name[256] = "";
  if (get_name(name, sizeof name, 0) != 0 || get(&gpu.multiprocessors, kMultiprocessors, 0) != 0 ||
      get(&gpu.major, kMajor, 0) != 0 || get(&gpu.minor, kMinor, 0) != 0) {
    return no_gpu("the driver does not say what the GPU is");
  }
  gpu.name = name;
  return gpu;
}

// How a child tells what it found.
constexpr std::string_view kFound = "gpu ", kNone = "none ";

}  // namespace

// A process that has asked the driver cannot hand the device to its children, in which candidates
// are measured: so a child asks.
Result<Gpu> find_gpu() {
  constexpr double kSilenceSeconds = 60;
  const ChildResult child = run_in_child(
      [](const Print& print) {
        const Result<Gpu> gpu = ask_driver();
        print(gpu ? fmt::format("{}{} {} {} {}", kFound, gpu->major, gpu->minor,
                                gpu->multiprocessors, gpu->name)
                  : fmt::format("{}{}", kNone, gpu.error().list.front().message));
      },
      kSilenceSeconds);
  const std::string_view told = child.output;
  if (!child.problem.empty()) return no_gpu("the driver was asked: " + child.problem);
  if (told.starts_with(kNone)) {
    return fail(
        error(Code::kBackendMissing, {}, "{}", told.substr(kNone.size())).with_remedy(kRemedy));
  }
  Gpu gpu;
  std::istringstream words{std::string(told.substr(kFound.size()))};
  words >> gpu.major >> gpu.minor >> gpu.multiprocessors;
  std::getline(words >> std::ws, gpu.name);
  return gpu;
}

Result<std::uint64_t> gpu_cache_bytes() {
  TESSERA_TRY(const Driver driver, find_driver());
  int bytes = 0;
  if (driver.get(&bytes, kCacheBytes, 0) != 0 || bytes < 0) {
    return no_gpu("the driver does not say how large the GPU's cache is");
  }
  return static_cast<std::uint64_t>(bytes);
}

std::string describe(const Gpu& gpu, const std::string& device) {
  return fmt::format("{} {} {}", architecture_of(device), gpu.multiprocessors, gpu.name);
}

std::string mismatch(const Gpu& gpu, const std::string& device) {
  const std::string architecture = architecture_of(device);
  const int number = gpu.major * 10 + gpu.minor;
  if (!runtime::runs_on(architecture.c_str(), gpu.major, gpu.minor)) {
    return fmt::format(
        "the GPU of this machine ({0}) is of architecture sm_{1}, the target's code is for {2}: "
        "give the target `cuda` -arch=sm_{1}{3}",
        gpu.name, number, architecture, runtime::arch_suffix(number));
  }
  if (byoc::is_of_device(describe(gpu, device), device)) return "";
  const std::string alike = fmt::format("{} {} ", architecture, gpu.multiprocessors);
  if (device.starts_with(alike)) {
    return fmt::format("the GPU of this machine is `{}`, the target is for `{}`", gpu.name,
                       device.substr(alike.size()));
  }
  return fmt::format(
      "the GPU of this machine ({0}) has {1} multiprocessors, the target is `{2}`: give it "
      "-multiprocessors={1}",
      gpu.name, gpu.multiprocessors, device.substr(0, device.find_last_not_of(' ') + 1));
}

}  // namespace tessera::tune
