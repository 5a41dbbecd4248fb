// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/device_properties.h"

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "types/gpu_arch.h"

namespace tessera::backends::cudnn {
namespace {

// As CUDA's documentation and the devices' data sheets have them. Heuristics read them; what a plan
// needs is checked where it is restored. Each version of cuDNN has names that it wants, and skips
// those that it does not know.
struct Usual {
  int number;  // of sm_NUMBER
  const char* name;
  int shared_bytes, threads, blocks;  // of a multiprocessor
  int clock_khz, memory_clock_khz, memory_bits, l2_bytes;
  std::int64_t memory_bytes;
};
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr Usual kUsual[] = {
    {80, "NVIDIA A100-SXM4-80GB", 163 << 10, 2048, 32, 1410000, 1593000, 5120, 40 << 20, 80 * kGiB},
    {86, "NVIDIA A10", 99 << 10, 1536, 16, 1695000, 6251000, 384, 6 << 20, 24 * kGiB},
    {89, "NVIDIA L40S", 99 << 10, 1536, 24, 2520000, 9001000, 384, 96 << 20, 48 * kGiB},
    {90, "NVIDIA H200", 227 << 10, 2048, 32, 1980000, 3201000, 6144, 60 << 20, 141 * kGiB},
    {100, "NVIDIA B200", 227 << 10, 2048, 32, 1965000, 3996000, 8192, 126 << 20, 180 * kGiB},
    {120, "NVIDIA GeForce RTX 5090", 99 << 10, 1536, 24, 2407000, 14001000, 512, 96 << 20,
     32 * kGiB},
};

// The nearest that is not newer.
const Usual& usual_of(int number) {
  const Usual* found = &kUsual[0];
  for (const Usual& usual : kUsual) {
    if (usual.number <= number) found = &usual;
  }
  return *found;
}

int number_of(const std::string& arch) { return std::atoi(arch.c_str() + std::strlen("sm_")); }

}  // namespace

std::string architecture(const Target& target) {
  const std::string& arch = target.get_string("arch");
  return arch == "auto" ? "sm_90a" : arch;
}

std::int64_t multiprocessors(const Target& target) {
  const std::int64_t given = target.get_int("multiprocessors");
  return given > 0 ? given : usual_multiprocessors(architecture(target));
}

std::string device_properties(const Target& target) {
  const int number = number_of(architecture(target));
  const Usual& u = usual_of(number);
  return fmt::format(
      R"({{"deviceName": "{}", "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, )"
      R"("deviceVer": {}, "driverVer": 13000, "supportCoopLaunch": 1, "multiProcessorCount": {}, )"
      R"("maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], )"
      R"("warpSize": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536, )"
      R"("maxThreadsPerBlock": 1024, "maxThreadsPerSM": {}, "maxCtasPerSM": {}, )"
      R"("maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": {}, )"
      R"("reservedSharedMemoryPerBlock": 1024, "oversizedSharedMemoryPerBlock": {}, )"
      R"("smClockRateKHz": {}, "memClockRateKHz": {}, "memoryBusWidth": {}, )"
      R"("l2CacheSize": {}, "smCountOrigin": 0, "totalGlobalMem": {}}})",
      u.name, number * 10, multiprocessors(target), u.threads, u.blocks, u.shared_bytes,
      u.shared_bytes, u.clock_khz, u.memory_clock_khz, u.memory_bits, u.l2_bytes, u.memory_bytes);
}

}  // namespace tessera::backends::cudnn
