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

Result<std::string> gpu_of_costs(const CompileOptions& options, const Target& machine,
                                 const tune::RecordStore& records) {
  const std::string arch = machine.get_string("arch") + " ";
  const Result<tune::Gpu> gpu = tune::find_gpu();
  const std::string unfit = gpu ? tune::mismatch(*gpu, arch) : gpu.error().list.front().message;
  if (unfit.empty()) return tune::describe(*gpu, arch);
  if (options.tuning.measures) {
    return fail(error(Code::kBackendMissing, {}, "candidates are measured on the GPU: {}", unfit)
                    .with_remedy("compile on the machine with the GPU, or give its records with "
                                 "--records FILE and --no-measure"));
  }
  TESSERA_TRY(const tune::Records all, records.all());
  std::set<std::string> devices;
  for (const tune::Record& r : all.list) {
    const bool is_cost = r.key.backend.starts_with(kKeysOfCosts) || r.key.backend == kNativeAlgorithms;
    if (is_cost && r.key.device.starts_with(arch)) devices.insert(r.key.device);
  }
  if (devices.size() == 1) return *devices.begin();
  return fail(error(Code::kBadOption, {}, "the records have costs of {} GPUs of {}", devices.size(),
                    machine.get_string("arch"))
                  .with_remedy("give those of one GPU with --records FILE"));
}

}  // namespace

Result<std::string> device_of_costs(const CompileOptions& options,
                                    const tune::RecordStore& records) {
  const Target machine = compute_target(options.targets);
  if (!is_on_host(main_memory(machine.device()))) return gpu_of_costs(options, machine, records);
  // "of its own": earlier versions measured where oneTBB had no threads.
  return fmt::format("{}, {} threads of its own, {}", cpu_name(),
                     options.threads > 0 ? std::to_string(options.threads) : "all",
                     short_text(machine));
}

}  // namespace tessera::driver
