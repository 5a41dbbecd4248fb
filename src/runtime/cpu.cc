// SPDX-License-Identifier: Apache-2.0
// Which instruction sets are there: a library must refuse a CPU that it was not compiled for, with
// a sentence instead of an illegal instruction.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "runtime/program.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace tessera::runtime {
namespace {

// Is `name` one of the words of the comma-separated `list`?
bool listed(const char* list, const char* name) {
  const std::size_t length = std::strlen(name);
  while (list != nullptr && *list != '\0') {
    const char* comma = std::strchr(list, ',');
    const std::size_t word = comma != nullptr ? comma - list : std::strlen(list);
    if (word == length && std::strncmp(list, name, length) == 0) return true;
    list = comma != nullptr ? comma + 1 : nullptr;
  }
  return false;
}

#if defined(__x86_64__)

enum Register { kEax, kEbx, kEcx, kEdx };

// What the operating system must save at a task switch (bits of XCR0).
constexpr std::uint64_t kNoState = 0, kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;

struct Feature {
  const char* name;
  std::uint32_t leaf, subleaf;
  Register reg;
  int bit;
  std::uint64_t os_state;
};

// Names as of g++ -m<name>.
constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, kEcx, 0, kNoState},
    {"ssse3", 1, 0, kEcx, 9, kNoState},
    {"sse4.1", 1, 0, kEcx, 19, kNoState},
    {"sse4.2", 1, 0, kEcx, 20, kNoState},
    {"movbe", 1, 0, kEcx, 22, kNoState},
    {"popcnt", 1, 0, kEcx, 23, kNoState},
    {"aes", 1, 0, kEcx, 25, kNoState},
    {"pclmul", 1, 0, kEcx, 1, kNoState},
    {"avx", 1, 0, kEcx, 28, kYmm},
    {"f16c", 1, 0, kEcx, 29, kYmm},
    {"fma", 1, 0, kEcx, 12, kYmm},
    {"bmi", 7, 0, kEbx, 3, kNoState},
    {"bmi2", 7, 0, kEbx, 8, kNoState},
    {"avx2", 7, 0, kEbx, 5, kYmm},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kNoState},
    {"avx512f", 7, 0, kEbx, 16, kZmm},
    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},
    {"avx512cd", 7, 0, kEbx, 28, kZmm},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},
    {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm},
    {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},
    {"avx512fp16", 7, 0, kEdx, 23, kZmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},
    {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"amx-bf16", 7, 0, kEdx, 22, kTiles},
    {"amx-tile", 7, 0, kEdx, 24, kTiles},
    {"amx-int8", 7, 0, kEdx, 25, kTiles},
};

std::uint64_t os_saved_state() {
  std::uint32_t a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c >> 27 & 1) == 0) return 0;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return static_cast<std::uint64_t>(d) << 32 | a;
}

// Linux has the registers of tiles for processes that ask for them.
bool may_use_tiles() {
#if defined(__linux__)
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
#else
  return false;
#endif
}

std::int32_t hardware_has(const char* name) {
  for (const Feature& f : kFeatures) {
    if (std::strcmp(f.name, name) != 0) continue;
    std::uint32_t regs[4] = {0, 0, 0, 0};
    if (__get_cpuid_count(f.leaf, f.subleaf, &regs[0], &regs[1], &regs[2], &regs[3]) == 0) return 0;
    const bool present = (regs[f.reg] >> f.bit & 1) != 0;
    if (!present || (os_saved_state() & f.os_state) != f.os_state) return 0;
    return f.os_state != kTiles || may_use_tiles() ? 1 : 0;
  }
  return std::strcmp(name, "sse2") == 0 ? 1 : -1;
}

#else

std::int32_t hardware_has(const char*) { return -1; }

#endif

}  // namespace
}  // namespace tessera::runtime

int32_t tessera_cpu_has(const char* feature) {
  using namespace tessera::runtime;
  if (listed(std::getenv("TESSERA_DISABLE_CPU_FEATURES"), feature)) return 0;
  return hardware_has(feature);
}

int32_t tessera_suits_cpu(const tessera_program* program) {
  for (int32_t i = 0; i < program->cpu_feature_count; ++i) {
    if (tessera_cpu_has(program->cpu_features[i]) != 1) return 0;
  }
  return 1;
}

const char* tessera_host_arch(void) {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
#error "tessera: no name for this architecture"
#endif
}
