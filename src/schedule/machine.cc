// SPDX-License-Identifier: Apache-2.0
#include "schedule/machine.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tessera::schedule {
namespace {

// Every CPU name of g++ with AVX-512 (F, VL, DQ, BW), and of those without it all with AVX2 and
// FMA.
constexpr std::string_view kAvx512[] = {
    "x86-64-v4",      "skylake-avx512", "cascadelake", "cooperlake", "cannonlake",
    "icelake-client", "icelake-server", "tigerlake",   "rocketlake", "sapphirerapids",
    "emeraldrapids",  "graniterapids",  "znver4",      "znver5"};
constexpr std::string_view kAvx2[] = {"x86-64-v3",  "haswell", "broadwell", "skylake", "alderlake",
                                      "raptorlake", "znver1",  "znver2",    "znver3",  "core-avx2"};

template <std::size_t N>
bool contains(const std::string_view (&list)[N], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

std::string_view this_machine() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return "x86-64-v4";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "x86-64-v3";
#endif
  return "";
}

}  // namespace

Machine machine_of(const Target& target) {
  std::string_view cpu = target.kind().find_option("mcpu") != nullptr
                             ? std::string_view(target.get_string("mcpu"))
                             : std::string_view();
  if (cpu == "native" || cpu.empty()) cpu = this_machine();
  Machine m;
  if (contains(kAvx512, cpu)) {
    m.vector_bytes = 64;
    m.vector_registers = 32;
  } else if (!contains(kAvx2, cpu)) {
    m.vector_bytes = 16;
    m.vector_registers = cpu.starts_with("x86") || cpu.empty() ? 16 : 32;
  }
  return m;
}

}  // namespace tessera::schedule
