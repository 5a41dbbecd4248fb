// SPDX-License-Identifier: Apache-2.0
// Weights that are packed without loss, loaded to a GPU by the runtime as every library carries it:
// that they arrive bit for bit, that damage is an error, and how long it takes beside weights as
// they are.
//
//   bench/gpu/lossless.sh FOLDER && FOLDER/load_packed [GIGABYTES]
//
// A program is made in memory that has constants and does nothing. The number of threads is that of
// instances (OMP_NUM_THREADS). Exit status 1 if something is wrong, 77 where there is no GPU.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "constants/lossless.h"
#include "runtime/device.h"
#include "runtime/instance.h"
#include "runtime/lossless/lossless.h"
#include "runtime/threads.h"

extern "C" const tessera_device_api tessera_cuda_device;

namespace {

using namespace tessera;
using Bytes = std::vector<std::byte>;

constexpr const char* kArch = "sm_80+ptx";  // there is no code
bool all_right = true;

void expect(bool holds, const char* what) {
  if (holds) return;
  all_right = false;
  std::printf("WRONG: %s (%s)\n", what, tessera_last_error());
}

// A library's tables, with `count` weights of the same bytes.
struct Library {
  Bytes section;
  std::vector<tessera_program_constant> constants;
  std::vector<tessera_program_packed> packed;
  std::int64_t shape = 0;
  tessera_program program = {};

  Library(const Bytes& weight, DType dtype, int count, bool is_packed) {
    const Bytes stored = is_packed ? packed_form(weight, dtype) : weight;
    const std::size_t room = (stored.size() + 63) / 64 * 64, size = (weight.size() + 63) / 64 * 64;
    section.resize(64 + room * static_cast<std::size_t>(count));
    shape = static_cast<std::int64_t>(weight.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const std::size_t at = 64 + i * room, offset = 64 + i * size;
      std::memcpy(&section[at], stored.data(), stored.size());
      constants.push_back({"", {0, 8, 1}, 1, &shape, offset, weight.size()});
      if (is_packed) {
        packed.push_back({offset, weight.size(), at, stored.size(),
                          static_cast<std::uint32_t>(dtype.size_bytes()), 0});
      }
    }
    program.program_version = TESSERA_PROGRAM_VERSION;
    program.abi_version = TESSERA_ABI_VERSION;
    program.build_id = program.target = "load_packed";
    program.cpu_arch = tessera_host_arch();
    program.device = {TESSERA_CUDA, 0};
    program.device_api = &tessera_cuda_device;
    program.device_arch = kArch;
    program.constants = constants.data();
    program.constant_count = count;
    program.weights = section.data();
    program.entry = [](const tessera_frame*) -> std::int32_t { return 0; };
    if (!is_packed) return;
    program.packed = packed.data();
    program.packed_count = count;
    program.mapped_bytes = 64;
    program.unpacked_bytes = size * static_cast<std::size_t>(count);
    program.unpack = tessera_unpack_weights;
  }
  Library(const Library&) = delete;

  static Bytes packed_form(const Bytes& weight, DType dtype) {
    const auto blob = packed_without_loss(weight, dtype);
    return blob != nullptr ? Bytes(blob->bytes().begin(), blob->bytes().end()) : Bytes();
  }
};

struct Loaded {
  tessera_model* model = nullptr;
  tessera_instance* instance = nullptr;
  std::int32_t status;
  double seconds;

  explicit Loaded(const Library& library) {
    const auto begin = std::chrono::steady_clock::now();
    status = tessera_model_create_from(&library.program, {}, nullptr, &model);
    if (status == TESSERA_OK) status = tessera_instance_create(model, nullptr, &instance);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  ~Loaded() {
    tessera_instance_destroy(instance);
    tessera_model_destroy(model);
  }
  Loaded(const Loaded&) = delete;

  bool has(std::size_t constant, const Bytes& wanted) const {
    const tessera_device_api& api = tessera_cuda_device;
    tessera_device_error error = {};
    Bytes got(wanted.size());
    const void* from = instance->work.library->constants[constant];
    return api.copy(got.data(), from, got.size(), nullptr, &error) == TESSERA_OK &&
           api.synchronize(nullptr, &error) == TESSERA_OK && got == wanted;
  }
};

std::uint64_t mixed(std::uint64_t& state) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

// Numbers of a normal distribution; with every pattern of 16 bits among them if `all`.
Bytes normal(DType dtype, std::size_t count, bool all = false) {
  const auto size = static_cast<std::size_t>(dtype.size_bytes());
  Bytes out(count * size);
  std::uint64_t state = 88172645463325252u + count;
  for (std::size_t i = 0; i < count; ++i) {
    float sum = -6;
    for (int k = 0; k < 12; ++k) sum += static_cast<float>(mixed(state) >> 40) / (1 << 24);
    const float value = sum / 64;
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (dtype == kBFloat16) bits >>= 16;
    if (dtype == kFloat16) {  // of normal ones
      const std::uint32_t exponent = std::max((bits >> 23 & 255), 113u) - 112;
      bits = bits >> 16 & 0x8000 | exponent << 10 | bits >> 13 & 1023;
    }
    std::memcpy(&out[i * size], &bits, size);
  }
  for (std::uint32_t pattern = 0; all && pattern < 1 << 16; ++pattern) {
    std::memcpy(&out[(3 * pattern + 1) * size - 2], &pattern, 2);
  }
  return out;
}

void check_bits() {
  for (const DType dtype : {kBFloat16, kFloat16, kFloat32}) {
    const auto size = static_cast<std::size_t>(dtype.size_bytes());
    std::vector<Bytes> weights;
    for (const std::size_t count : {2001u, 131071u, 131072u, 131073u, 1000003u}) {
      weights.push_back(normal(dtype, count));
    }
    weights.push_back(normal(dtype, 500'000, true));
    for (const float value : {0.0f, -1.5f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
      Bytes same(300'001 * size);
      for (std::size_t i = 0; i < same.size(); i += size) {
        std::memcpy(&same[i], reinterpret_cast<const std::byte*>(&value) + 4 - size, size);
      }
      weights.push_back(same);
    }
    for (const Bytes& weight : weights) {
      if (Library::packed_form(weight, dtype).empty()) {
        std::printf("%s, %zu bytes: would not be smaller\n", to_string(dtype).c_str(),
                    weight.size());
        continue;
      }
      const Library library(weight, dtype, 3, true);
      const Loaded loaded(library);
      expect(loaded.status == TESSERA_OK, "a weight cannot be loaded");
      for (std::size_t i = 0; loaded.status == TESSERA_OK && i < 3; ++i) {
        expect(loaded.has(i, weight), "bits of a weight");
      }
    }
  }
}

void check_damage() {
  const Bytes weight = normal(kBFloat16, 1'000'003);
  Library library(weight, kBFloat16, 3, true);
  for (std::size_t i = 1; i < 30; ++i) {
    const std::size_t at = 64 + (library.section.size() - 200) / 30 * i;
    library.section[at] ^= std::byte{1};
    const Loaded damaged(library);
    expect(damaged.status == TESSERA_DAMAGED, "a changed byte is no error");
    library.section[at] ^= std::byte{1};
  }
  const Loaded whole(library);
  expect(whole.status == TESSERA_OK && whole.has(2, weight), "after errors");
}

std::uint64_t resident_bytes() {
  unsigned long all = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &all, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * 4096;
}

void measure(const char* name, const Bytes& weight, int count, bool is_packed) {
  const Library library(weight, kBFloat16, count, is_packed);
  const double bytes = static_cast<double>(weight.size()) * count;
  std::vector<double> seconds;
  double more = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = resident_bytes();
    const Loaded loaded(library);
    more = (static_cast<double>(resident_bytes()) - static_cast<double>(before)) / 1e9;
    expect(loaded.status == TESSERA_OK, name);
    if (loaded.status != TESSERA_OK) return;
    seconds.push_back(loaded.seconds);
    expect(loaded.has(0, weight) && loaded.has(static_cast<std::size_t>(count) - 1, weight), name);
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf(
      "%-40s %6.2f GB in the section  %6.3f s (least %6.3f)  %6.1f GB/s of weights, "
      "%5.2f GB more in the host's memory\n",
      name, static_cast<double>(library.section.size()) / 1e9, seconds[1], seconds[0],
      bytes / seconds[1] / 1e9, more);
}

// What loading took before weights were sent as they are unpacked: unpacked by the host, all,
// first.
void measure_unpacking(const Bytes& weight, int count) {
  const Library library(weight, kBFloat16, count, true);
  const auto begin = std::chrono::steady_clock::now();
  auto* memory = static_cast<char*>(std::malloc(library.program.unpacked_bytes + 64));
  const tessera_unpack_target target = {
      memory,
      [](void* all, const tessera_unpacked_block* block, void** out) -> std::int32_t {
        *out = static_cast<char*>(all) + block->offset;
        return TESSERA_OK;
      },
      nullptr};
  const std::int32_t status =
      tessera_unpack_weights(&library.program, &target, runtime::default_threads());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  expect(status == TESSERA_OK, "unpacking");
  std::printf("%-40s %6.3f s  %6.1f GB/s\n", "unpacked in the host's memory alone", took.count(),
              static_cast<double>(weight.size()) * count / took.count() / 1e9);
  std::free(memory);
}

}  // namespace

int main(int argc, char** argv) {
  const double gigabytes = argc > 1 ? std::atof(argv[1]) : 8;
  tessera_device_error error = {};
  if (tessera_cuda_device.open(0, kArch, &error) != TESSERA_OK) {
    std::printf("%s\n", error.text);
    return 77;
  }
  std::printf("%d threads\n", runtime::default_threads());
  check_bits();
  check_damage();
  std::printf("bits and damage: %s\n", all_right ? "right" : "WRONG");
  const Bytes weight = normal(kBFloat16, std::size_t{4096} * 14336);
  const int count =
      std::max(1, static_cast<int>(gigabytes * 1e9 / static_cast<double>(weight.size())));
  measure("as they are", weight, count, false);
  measure("packed", weight, count, true);
  measure_unpacking(weight, count);
  return all_right ? 0 : 1;
}
