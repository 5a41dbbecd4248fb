// SPDX-License-Identifier: Apache-2.0
#include "driver/cold_weights.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include <dlfcn.h>
#include <unistd.h>

#include "emit/host.h"
#include "runtime/program.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tessera::driver {
namespace {

// Where the system does not tell: more than most machines have for a core.
constexpr long kUnknownCache = 32L << 20;
// Machines with a large cache share it among many: a process has a part of it.
constexpr std::uint64_t kLargestCache = 64ULL << 20;

std::uint64_t bytes_that_caches_hold() {
  const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::min(static_cast<std::uint64_t>(bytes > 0 ? bytes : kUnknownCache), kLargestCache);
}

constexpr std::size_t kLineBytes = 64;

#if defined(__x86_64__)
bool has_clflushopt() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & bit_CLFLUSHOPT) != 0;
}

// Lines in any order; the other instruction goes through them one after the other.
__attribute__((target("clflushopt"))) void flush_in_any_order(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += kLineBytes) {
    _mm_clflushopt(const_cast<std::byte*>(&bytes[i]));  // it does not write
  }
}

void flush(std::span<const std::byte> bytes) {
  static const bool in_any_order = has_clflushopt();
  if (in_any_order) return flush_in_any_order(bytes);
  for (std::size_t i = 0; i < bytes.size(); i += kLineBytes) _mm_clflush(&bytes[i]);
}

void wait() { _mm_mfence(); }
#elif defined(__aarch64__)
void flush(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += kLineBytes) {
    asm volatile("dc civac, %0" : : "r"(&bytes[i]) : "memory");
  }
}

void wait() { asm volatile("dsb ish" : : : "memory"); }
#else
void flush(std::span<const std::byte>) {}
void wait() {}
#endif

using Library = std::unique_ptr<void, int (*)(void*)>;

// `flags`: of dlopen, beside those of how names are looked for.
Library open(const LibraryProgram& program, int flags) {
  const std::string path = std::filesystem::absolute(program.library).string();
  return {dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | flags), dlclose};
}

// The tables of an entry, or null.
const tessera_program* tables_of(const LibraryProgram& program, const Library& library) {
  if (library == nullptr || program.entry.empty()) return nullptr;
  const auto* tables = static_cast<const tessera_program* const*>(
      dlsym(library.get(), emit::program_of_entry(program.entry).c_str()));
  return tables != nullptr ? *tables : nullptr;
}

constexpr int kMostCopies = 32;  // no more is computed in a row
// Caches keep some of what is read in turns, however much it is.
constexpr double kTimesCache = 1.5;

}  // namespace

ColdWeights ColdWeights::of(const LibraryProgram& program) {
  const Library library = open(program, RTLD_NOLOAD);
  const tessera_program* tables = tables_of(program, library);
  if (tables == nullptr || tables->weights == nullptr) return {};
  ColdWeights cold;
  for (std::int32_t i = 0; i < tables->constant_count; ++i) {
    const tessera_program_constant& c = tables->constants[i];
    const auto* begin = static_cast<const std::byte*>(tables->weights) + c.offset;
    if (c.bytes > 0) cold.weights_.emplace_back(begin, c.bytes);
  }
  return cold.bytes() <= bytes_that_caches_hold() ? cold : ColdWeights();
}

int copies_beyond(std::uint64_t cache_bytes, std::uint64_t weight_bytes) {
  if (weight_bytes * kMostCopies < cache_bytes) return 1;
  const double wanted =
      kTimesCache * static_cast<double>(cache_bytes) / static_cast<double>(weight_bytes);
  return static_cast<int>(std::clamp(std::ceil(wanted), 1.0, double{kMostCopies}));
}

int runs_over_all(int copies, int least) { return (least + copies - 1) / copies * copies; }

std::uint64_t weight_bytes(const LibraryProgram& program) {
  const Library library = open(program, 0);
  const tessera_program* tables = tables_of(program, library);
  if (tables == nullptr) return 0;
  std::uint64_t bytes = 0;
  for (std::int32_t i = 0; i < tables->constant_count; ++i) bytes += tables->constants[i].bytes;
  return bytes;
}

void ColdWeights::evict() const {
  for (const auto& weight : weights_) flush(weight);
  if (!weights_.empty()) wait();
}

std::uint64_t ColdWeights::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& weight : weights_) bytes += weight.size();
  return bytes;
}

}  // namespace tessera::driver
