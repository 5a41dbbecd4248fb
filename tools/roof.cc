// SPDX-License-Identifier: Apache-2.0
#include "tools/roof.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/program.h"

namespace tessera::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChains = 12;          // of operations that do not wait for each other
constexpr long kFmaRounds = 200000;  // some milliseconds
constexpr double kSeconds = 0.2;     // for as long it is tried; the fastest counts
constexpr std::int64_t kLeastBytes = 1 << 20, kMostBytes = 1 << 28;

template <int kFloats>
using Vector [[gnu::vector_size(4 * kFloats), gnu::aligned(4), gnu::may_alias]] = float;

template <class V, std::size_t... kIndex>
[[gnu::always_inline]] inline float sum_of(const V (&sums)[kChains],
                                           std::index_sequence<kIndex...>) {
  const V all = (sums[kIndex] + ...);
  float sum = 0;
  for (std::size_t i = 0; i < sizeof(V) / sizeof(float); ++i) sum += all[i];
  return sum;
}

// A compiler turns each into a fused multiply-add where the processor has one.
template <class V, std::size_t... kIndex>
[[gnu::always_inline]] inline float multiply_add(long rounds, std::index_sequence<kIndex...> all) {
  V sums[kChains] = {};
  const V factor = V{} + 0.5f, term = V{} + 1.0f;
  for (long i = 0; i < rounds; ++i) ((sums[kIndex] = sums[kIndex] * factor + term), ...);
  return sum_of(sums, all);
}

template <class V, std::size_t... kIndex>
[[gnu::always_inline]] inline float read(const float* data, std::size_t count,
                                         std::index_sequence<kIndex...> all) {
  constexpr std::size_t kFloats = sizeof(V) / sizeof(float);
  V sums[kChains] = {};
  for (const float* end = data + count; data < end; data += kChains * kFloats) {
    ((sums[kIndex] += *reinterpret_cast<const V*>(data + kIndex * kFloats)), ...);
  }
  return sum_of(sums, all);
}

constexpr auto kAll = std::make_index_sequence<kChains>();

// For one width of vectors. `count` is a multiple of kBlock.
constexpr std::size_t kBlock = std::size_t{16} * kChains;
struct Loops {
  int floats;
  float (*multiply_add)(long rounds);
  float (*read)(const float* data, std::size_t count);
};

float multiply_add_4(long rounds) { return multiply_add<Vector<4>>(rounds, kAll); }
float read_4(const float* data, std::size_t count) { return read<Vector<4>>(data, count, kAll); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float multiply_add_8(long rounds) {
  return multiply_add<Vector<8>>(rounds, kAll);
}
[[gnu::target("avx2,fma")]] float read_8(const float* data, std::size_t count) {
  return read<Vector<8>>(data, count, kAll);
}
[[gnu::target("avx512f")]] float multiply_add_16(long rounds) {
  return multiply_add<Vector<16>>(rounds, kAll);
}
[[gnu::target("avx512f")]] float read_16(const float* data, std::size_t count) {
  return read<Vector<16>>(data, count, kAll);
}
#endif

Loops widest_loops() {
#if defined(__x86_64__)
  if (tessera_cpu_has("avx512f") == 1) return {16, multiply_add_16, read_16};
  if (tessera_cpu_has("avx2") == 1 && tessera_cpu_has("fma") == 1) {
    return {8, multiply_add_8, read_8};
  }
#endif
  return {4, multiply_add_4, read_4};
}

// The least seconds that all threads take for `work` of theirs, without their start.
double seconds_of(int threads, const std::function<float(std::size_t thread)>& work) {
  std::vector<double> least(static_cast<std::size_t>(threads));
  std::vector<float> results(least.size());
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < least.size(); ++t) {
    running.emplace_back([&, t] {
      for (double spent = 0; spent < kSeconds;) {
        const auto begin = Clock::now();
        results[t] += work(t);
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        least[t] = spent == 0 ? seconds : std::min(least[t], seconds);
        spent += seconds;
      }
    });
  }
  for (std::thread& t : running) t.join();
  volatile float used = 0;  // or the work would be left out
  for (const float r : results) used = used + r;
  return *std::max_element(least.begin(), least.end());
}

}  // namespace

Roof measure_roof(int threads, std::int64_t bytes) {
  const Loops loops = widest_loops();
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  const double fma_seconds =
      seconds_of(threads, [&](std::size_t) { return loops.multiply_add(kFmaRounds); });
  const std::size_t wanted =
      static_cast<std::size_t>(std::clamp(bytes, kLeastBytes, kMostBytes)) / sizeof(float) / count;
  const std::size_t each = (wanted / kBlock + 1) * kBlock;
  const std::vector<std::vector<float>> data(count, std::vector<float>(each, 1.0f));
  // Small data is read often enough to be measured.
  const std::size_t rounds = std::max<std::size_t>(1, kMostBytes / 32 / each / count);
  const double read_seconds = seconds_of(threads, [&](std::size_t t) {
    float sum = 0;
    for (std::size_t i = 0; i < rounds; ++i) sum += loops.read(data[t].data(), each);
    return sum;
  });
  return {2.0 * loops.floats * kChains * kFmaRounds * threads / fma_seconds,
          static_cast<double>(sizeof(float) * each * rounds * count) / read_seconds, 0};
}

}  // namespace tessera::tools
