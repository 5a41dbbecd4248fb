// SPDX-License-Identifier: Apache-2.0
// A program that times the matrix kernels that it is linked with, on one product:
//   PROGRAM SECONDS FIRST_VALID [SKIPPED,...]
// A candidate counts only if it computes the right numbers. All that do take turns under load;
// weights come from memory as they do in a model, where hundreds of other matrices were read since
// their last use; activations lie where the kernel before left them. docs/tuning.md has the lines
// that it prints.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>
#include <unistd.h>

#include "backends/cutlass/kernels/measure.h"
#include "backends/cutlass/kernels/measure_reference.cuh"

namespace tessera::cutlass::measure {

constexpr int kLaunches = 24;       // of a graph, at least
constexpr int kMostWeights = 256;   // copies of B
constexpr double kReplayUs = 5000;  // of work between two events, at least
constexpr double kHopeless = 1.15;  // times the best: one short look is enough
constexpr double kClose = 1.02;     // times the best: stays to the end
constexpr int kRounds = 21, kLookAfter = 7;
constexpr int kFinalists = 16;
constexpr double kWarmUpS = 0.5;  // of load before the first times
constexpr int kLimitS = 20;       // for one step of one candidate

// What a result may be off, as a share of the root mean square: rounding of the result and of the
// operands, and the hardware's tanh; single elements by kSingle times that.
constexpr double kSingle = 20;
template <class T>
constexpr double kRounding = 2e-5;
template <>
inline constexpr double kRounding<__half> = 1e-3;
template <>
inline constexpr double kRounding<__nv_bfloat16> = 4e-3;
// Where a rounding is on the edge, an integer of eight bits is the next one.
template <>
inline constexpr double kRounding<int8_t> = 2e-3;
template <>
inline constexpr double kRounding<uint8_t> = 2e-3;
inline constexpr double kRoundingTf32 = 1.5e-3, kRoundingHalfSums = 5e-2, kRoundingFast = 1e-3;

// Ends the process when a step of a candidate takes too long, which a kernel that hangs does.
class Watchdog {
 public:
  Watchdog() {
    std::thread([this] { watch(); }).detach();
  }
  void step() { until_ = now() + kLimitS; }
  void rest() { until_ = kNever; }

 private:
  static constexpr int64_t kNever = INT64_MAX;
  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void watch() {
    while (now() <= until_) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::printf("hangs\n");
    std::fflush(stdout);
    _exit(5);
  }
  std::atomic<int64_t> until_{kNever};
};

// The device or the program is at fault, no candidate.
[[noreturn]] inline void give_up(const char* what, cudaError_t status) {
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}
inline void must(cudaError_t status, const char* what) {
  if (status != cudaSuccess) give_up(what, status);
}

inline std::string& last_error() {
  static std::string text;
  return text;
}
inline void set_error(const tessera_call*, const char* text) { last_error() = text; }

template <class T>
T* device_array(int64_t count) {
  void* p = nullptr;
  must(cudaMalloc(&p, std::max<int64_t>(count, 1) * sizeof(T)), "memory for the operands");
  return static_cast<T*>(p);
}
template <class T>
T* random_array(int64_t count, double scale, unsigned seed) {
  T* p = device_array<T>(count);
  fill<<<1024, 256>>>(p, count, float(scale), seed);
  return p;
}

template <class... Inputs>
void fill_inputs(InputList<Inputs...>, GemmArguments& g) {
  int i = 0;
  ((g.inputs[i].data = random_array<typename Inputs::Element>(
        Inputs::elements(g) * (g.inputs[i].batch_stride == 0 ? 1 : g.batch), 0.5, 10 + i),
    ++i),
   ...);
}

inline double median(std::vector<double> sorted) {
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}
// Between the quartiles.
inline double spread(std::vector<double> sorted) {
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4];
}

struct Runner {
  int number = 0;
  MeasuredCandidate candidate = {};
  cudaGraphExec_t graph = nullptr;
  std::vector<double> us = {};  // of one launch
};

// Problem: element types A, B, Sum, D; kAIsColumnMajor, kBIsRowMajor, kHasHalfSums, kIsTf32,
// kIsFast. Function: Inputs and element().
template <class Problem, class Function>
class Measurement {
  using A = typename Problem::A;
  using B = typename Problem::B;
  using D = typename Problem::D;

 public:
  Measurement() : g_(tessera_measured_product) {
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0), "the GPU");
    must(cudaStreamCreate(&stream_), "a stream");
    for (cudaEvent_t* event : {&from_, &to_}) must(cudaEventCreate(event), "an event");
    const int64_t weights = g_.n * g_.k * g_.batch;
    // Factors that differ from batch to batch are activations: where they are is not for us to say.
    copies_ = g_.batch > 1
                  ? 1
                  : std::clamp<int64_t>(
                        2 * int64_t(device.l2CacheSize) / (weights * int64_t(sizeof(B))) + 2, 2,
                        kMostWeights);
    // Of integers, sums that eight bits can nearly hold: what is clipped is not compared.
    const bool is_integer = std::is_integral_v<A>;
    g_.a.data = random_array<A>(g_.m * g_.k * g_.batch, is_integer ? 4 : 1, 1);
    g_.b.data = random_array<B>(weights * copies_, is_integer ? 1 : 1 / std::sqrt(double(g_.k)), 2);
    g_.d.data = device_array<D>(elements());
    fill_inputs(typename Function::Inputs(), g_);
    int64_t workspace_bytes = 0;
    for (int i = 0; i < tessera_measured_candidate_count; ++i) {
      workspace_bytes = std::max(workspace_bytes, tessera_measured_candidates[i].workspace_bytes);
    }
    workspace_ = device_array<char>(workspace_bytes);
    make_reference();
  }

  int run(double seconds, bool first_valid, const std::vector<int>& skipped) {
    end_ = Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::vector<Runner> runners;
    double best = INFINITY;
    for (int i = 0; i < tessera_measured_candidate_count; ++i) {
      if (std::find(skipped.begin(), skipped.end(), i) != skipped.end()) continue;
      if (!runners.empty() && (is_late() || first_valid)) break;
      Runner runner{i, tessera_measured_candidates[i]};
      if (!admit(runner, best)) continue;
      if (runners.empty()) warm_up(runner);
      best = std::min(best, median(runner.us));
      runners.push_back(std::move(runner));
    }
    contest(runners);
    for (const Runner& r : runners) {
      std::printf("time %d %.4f %.4f\n", r.number, median(r.us), spread(r.us));
    }
    std::printf("done\n");
    return 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_late() const { return Clock::now() >= end_; }
  int64_t elements() const { return g_.m * g_.n * g_.batch; }

  void make_reference() {
    wanted_ = device_array<float>(elements());
    difference_ = device_array<Difference>(1);
    must(cudaMemset(difference_, 0, sizeof(Difference)), "the reference");
    const dim3 grid(unsigned((g_.m + kSide - 1) / kSide), unsigned((g_.n + kSide - 1) / kSide),
                    unsigned(g_.batch));
    reference<Problem, Function><<<grid, dim3(kSide, kSide)>>>(g_, wanted_);
    sum_squares<<<512, 256>>>(wanted_, elements(), difference_);
    must(cudaMemcpy(&zero_, difference_, sizeof zero_, cudaMemcpyDeviceToHost), "the reference");
    if (2 * int64_t(zero_.compared) < elements()) {
      std::fprintf(stderr, "of random numbers the epilogue makes too few that are finite\n");
      std::exit(1);
    }
  }

  static void begin(const Runner& runner) {
    std::printf("begin %d\n", runner.number);
    std::fflush(stdout);
  }

  bool launch(const Runner& runner, int64_t weights) const {
    tessera_call call = {};
    call.struct_bytes = sizeof call;
    call.device = {TESSERA_CUDA, 0};
    call.stream = stream_;
    call.set_error = set_error;
    call.workspace = workspace_;
    call.workspace_bytes = uint64_t(runner.candidate.workspace_bytes);
    GemmArguments g = g_;
    g.b.data = static_cast<B*>(g.b.data) + weights % copies_ * (g.n * g.k);
    g.swizzle = runner.candidate.swizzle;
    g.raster_along_m = runner.candidate.raster_along_m;
    g.dependent = runner.candidate.dependent;
    return runner.candidate.kernel(&call, &g) == 0;
  }

  // After a failing kernel the device is of no use to this process.
  void synchronize(const Runner& runner) {
    const cudaError_t status = cudaStreamSynchronize(stream_);
    if (status == cudaSuccess) return;
    std::printf("failed %d %s\n", runner.number, cudaGetErrorString(status));
    std::fflush(stdout);
    _exit(4);
  }

  static constexpr double limit() {
    double limit = kRounding<D>;
    if (Problem::kIsTf32) limit = std::max(limit, kRoundingTf32);
    if (Problem::kHasHalfSums) limit = std::max(limit, kRoundingHalfSums);
    if (Problem::kIsFast) limit = std::max(limit, kRoundingFast);
    return limit;
  }

  // Compares what lies in D after the launches before; "" if it is right.
  std::string compare_result(const Runner& runner) {
    must(cudaMemcpyAsync(difference_, &zero_, sizeof zero_, cudaMemcpyHostToDevice, stream_),
         "a comparison");
    compare<<<512, 256, 0, stream_>>>(static_cast<const D*>(g_.d.data), wanted_, elements(),
                                      difference_);
    Difference found;
    synchronize(runner);
    must(cudaMemcpy(&found, difference_, sizeof found, cudaMemcpyDeviceToHost), "a comparison");
    const double error = std::sqrt(found.squares / found.wanted_squares);
    float largest;
    static_assert(sizeof largest == sizeof found.largest);
    __builtin_memcpy(&largest, &found.largest, sizeof largest);
    if (error < limit() && largest < kSingle * limit()) return "";
    char text[160];
    std::snprintf(text, sizeof text,
                  "it computes wrong numbers: off by %.2g (limit %.2g), single elements by %.2g",
                  error, limit(), double(largest));
    return text;
  }

  std::string check(const Runner& runner) {
    must(cudaMemsetAsync(g_.d.data, 0xff, elements() * sizeof(D), stream_), "a result");  // NaN
    if (!launch(runner, 0)) return last_error();
    return compare_result(runner);
  }

  bool capture(Runner& runner) const {
    if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
      return false;
    }
    bool ok = true;
    for (int64_t i = 1; i <= launches() && ok; ++i) ok = launch(runner, i);
    cudaGraph_t graph = nullptr;
    ok = cudaStreamEndCapture(stream_, &graph) == cudaSuccess && ok;
    ok = ok && cudaGraphInstantiate(&runner.graph, graph, 0) == cudaSuccess;
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    return ok;
  }
  // The last one has the first weights again, so that its result can be checked.
  int64_t launches() const { return (kLaunches + copies_ - 1) / copies_ * copies_; }

  // Right, before and after replays under load; then it has a first time. What is far behind gets
  // no second one.
  bool admit(Runner& runner, double best) {
    begin(runner);
    watchdog_.step();
    std::string why = check(runner);
    if (why.empty() && !capture(runner)) why = "it cannot be captured: " + last_error();
    if (why.empty()) {
      do measure(runner, 1);
      while (runner.us.size() < 3 && runner.us.back() < 2 * best);
      why = compare_result(runner);
    }
    watchdog_.rest();
    if (why.empty()) return true;
    cudaGetLastError();
    std::printf("wrong %d %s\n", runner.number, why.c_str());
    std::fflush(stdout);
    return false;
  }

  // The clocks of a card that has to keep within its power are those of load only after a while.
  void warm_up(Runner& runner) {
    begin(runner);
    watchdog_.step();
    const auto until = Clock::now() + std::chrono::duration<double>(kWarmUpS);
    while (Clock::now() < until) measure(runner, 1);
    runner.us.erase(runner.us.begin(), runner.us.end() - std::min<long>(3, long(runner.us.size())));
    watchdog_.rest();
  }

  // A replay that nobody times puts caches and clocks where they are in a steady run.
  void measure(Runner& runner, int replays) {
    must(cudaGraphLaunch(runner.graph, stream_), "a replay");
    must(cudaEventRecord(from_, stream_), "an event");
    for (int i = 0; i < replays; ++i) must(cudaGraphLaunch(runner.graph, stream_), "a replay");
    must(cudaEventRecord(to_, stream_), "an event");
    synchronize(runner);
    float ms = 0;
    must(cudaEventElapsedTime(&ms, from_, to_), "an event");
    runner.us.push_back(ms * 1e3 / double(launches() * replays));
  }

  // Those near the best, and the one that is taken without records, take turns, so that all of them
  // meet the card in the same state; a round begins with another one each time. First times, of a
  // card that may have been cool, are forgotten.
  void contest(std::vector<Runner>& runners) {
    std::vector<Runner*> finalists;
    for (Runner& r : runners) finalists.push_back(&r);
    std::stable_sort(finalists.begin(), finalists.end(), [](const Runner* x, const Runner* y) {
      return median(x->us) < median(y->us);
    });
    if (finalists.empty()) return;
    const Runner* leader = finalists.front();
    const double first_us = median(leader->us);
    std::vector<Runner*> others;
    for (auto at = finalists.begin(); at != finalists.end();) {
      const bool stays = (*at)->number == 0 || (median((*at)->us) <= kHopeless * first_us &&
                                                at - finalists.begin() < kFinalists);
      if (!stays) others.push_back(*at);
      at = stays ? at + 1 : finalists.erase(at);
    }
    for (int round = 0; round < kRounds && (round == 0 || !is_late()); ++round) {
      std::rotate(finalists.begin(), finalists.begin() + 1, finalists.end());
      for (Runner* r : finalists) {
        const double replay_us = median(r->us) * double(launches());
        if (round == 0) r->us.clear();
        begin(*r);
        watchdog_.step();
        measure(*r, int(std::clamp(kReplayUs / replay_us, 1.0, 50.0)));
        watchdog_.rest();
      }
      if (round + 1 == kLookAfter) drop_slower(finalists);
    }
    // The others' first times, as the leader's shows what the state of the card has made of them.
    for (Runner* r : others) {
      for (double& us : r->us) us *= median(leader->us) / first_us;
    }
  }

  static void drop_slower(std::vector<Runner*>& finalists) {
    double best = INFINITY;
    for (const Runner* r : finalists) best = std::min(best, median(r->us));
    std::erase_if(finalists, [&](const Runner* r) { return median(r->us) > kClose * best; });
  }

  GemmArguments g_;
  int64_t copies_ = 1;
  void* workspace_ = nullptr;
  float* wanted_ = nullptr;
  Difference* difference_ = nullptr;
  Difference zero_;  // nothing compared yet, with what is known of the reference
  cudaStream_t stream_ = nullptr;
  cudaEvent_t from_ = nullptr, to_ = nullptr;
  Clock::time_point end_;
  Watchdog watchdog_;
};

template <class Problem, class Function>
int measure_main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SECONDS FIRST_VALID [SKIPPED,...]\n", argv[0]);
    return 2;
  }
  std::vector<int> skipped;
  for (const char* at = argc > 3 ? argv[3] : ""; *at != '\0';) {
    char* end = nullptr;
    skipped.push_back(int(std::strtol(at, &end, 10)));
    at = *end == ',' ? end + 1 : end;
  }
  static Measurement<Problem, Function> measurement;  // the watchdog outlives the end of main
  return measurement.run(std::atof(argv[1]), std::atoi(argv[2]) != 0, skipped);
}

}  // namespace tessera::cutlass::measure
