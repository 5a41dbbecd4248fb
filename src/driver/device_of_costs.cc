// SPDX-License-Identifier: Apache-2.0
#include "driver/device_of_costs.h"

#include <fstream>
#include <set>

#include <fmt/format.h>

#include "tune/gpu.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

std::string cpu_of_costs(const CompileOptions& options, const Target& machine) {
  // "of its own": earlier versions measured where oneTBB had no threads.
  return fmt::format("{}, {} threads of its own, {}", cpu_name(),
                     options.threads > 0 ? std::to_string(options.threads) : "all",
                     short_text(machine));
}

std::string arch_of(const Target& machine) { return machine.get_string("arch") + " "; }

// The one that is here, or why it is not.
struct FoundGpu {
  std::string device, unfit;
};
FoundGpu find_gpu_of(const Target& machine) {
  const Result<tune::Gpu> gpu = tune::find_gpu();
  if (!gpu) return {"", gpu.error().list.front().message};
  const std::string arch = arch_of(machine);
  return {tune::describe(*gpu, arch), tune::mismatch(*gpu, arch)};
}

Result<std::string> gpu_in_records(const Target& machine, const tune::RecordStore& records) {
  TESSERA_TRY(const tune::Records all, records.all());
  std::set<std::string> devices;
  for (const tune::Record& r : all.list) {
    const bool is_cost =
        r.key.backend.starts_with(kKeysOfCosts) || r.key.backend == kNativeAlgorithms;
    if (is_cost && r.key.device.starts_with(arch_of(machine))) devices.insert(r.key.device);
  }
  if (devices.size() == 1) return *devices.begin();
  return fail(error(Code::kBadOption, {}, "the records have costs of {} GPUs of {}", devices.size(),
                    machine.get_string("arch"))
                  .with_remedy("give those of one GPU with --records FILE"));
}

bool is_cpu(const Target& machine) { return is_on_host(main_memory(machine.device())); }

}  // namespace

std::string any_device(const CompileOptions& options) {
  return arch_of(compute_target(options.targets));
}

std::string device_here(const CompileOptions& options) {
  const FoundGpu found = find_gpu_of(compute_target(options.targets));
  return found.unfit.empty() ? found.device : "";
}

Result<std::string> device_to_measure_on(const CompileOptions& options) {
  const Target machine = compute_target(options.targets);
  if (is_cpu(machine)) return cpu_of_costs(options, machine);
  const FoundGpu found = find_gpu_of(machine);
  if (found.unfit.empty()) return found.device;
  return fail(
      error(Code::kBackendMissing, {}, "candidates are measured on the GPU: {}", found.unfit)
          .with_remedy("compile on the machine with the GPU, or give its records with "
                       "--records FILE and --no-measure"));
}

Result<std::string> device_of_costs(const CompileOptions& options,
                                    const tune::RecordStore& records) {
  const Target machine = compute_target(options.targets);
  if (options.tuning.measures || is_cpu(machine)) return device_to_measure_on(options);
  const FoundGpu found = find_gpu_of(machine);
  return found.unfit.empty() ? Result<std::string>(found.device) : gpu_in_records(machine, records);
}

}  // namespace tessera::driver
