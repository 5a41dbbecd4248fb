// SPDX-License-Identifier: Apache-2.0
// A program that times the kernels that it is linked with, on one piece of work:
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
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "backends/cutlass/kernels/measure_result.cuh"
#include "tessera/call.h"

namespace tessera::cutlass::measure {

constexpr int kLaunches = 24;       // of a graph, at least
constexpr double kWarmUpS = 0.5;    // of load before the first times
constexpr double kHopeless = 1.15;  // times the best: one short look is enough
constexpr int kFinalists = 16;
// A card at its power limit lowers its clock for the candidate that draws more, but takes
// milliseconds to do so: in a short turn each candidate runs at the clock that the one before it
// left, and the order is that of another clock than the model's. So a turn is long, and its first
// part, in which the clock settles, is not timed. That makes 25 ms: a contest of sixteen that costs
// about four seconds has a first look after few rounds, and more of them only for those near the
// best.
constexpr double kUntimedUs = 10000, kReplayUs = 15000;  // of a turn, at least
constexpr double kClose = 1.03;                          // times the best: stays after the look
constexpr int kLookAfter = 5, kLeastRounds = 7, kRounds = 21;
constexpr double kContestS = 4;  // no further round after that
constexpr int kLimitS = 20;      // for one step of one candidate

// What all candidates compute, on operands that lie in memory.
class MeasuredWork {
 public:
  MeasuredWork() { must(cudaGetDeviceProperties(&device_, 0), "the GPU"); }
  MeasuredWork(const MeasuredWork&) = delete;
  MeasuredWork& operator=(const MeasuredWork&) = delete;
  virtual ~MeasuredWork() = default;

  virtual int candidate_count() const = 0;
  virtual int64_t workspace_bytes(int candidate) const = 0;
  // Sets of weights that launches take in turn.
  virtual int64_t turns() const { return 1; }
  // False: set_error of the call says why. What is wanted is the result of turn 0.
  virtual bool launch(int candidate, int64_t turn, const tessera_call& call) const = 0;

  const CheckedResult& result() const { return result_; }

 protected:
  cudaDeviceProp device_;
  CheckedResult result_;
};

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

inline std::string& last_error() {
  static std::string text;
  return text;
}
inline void set_error(const tessera_call*, const char* text) { last_error() = text; }

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
  cudaGraphExec_t graph = nullptr;
  std::vector<double> us = {};  // of one launch
};

class Contest {
 public:
  explicit Contest(const MeasuredWork& work) : work_(work) {
    must(cudaStreamCreate(&stream_), "a stream");
    for (cudaEvent_t* event : {&from_, &to_}) must(cudaEventCreate(event), "an event");
    int64_t workspace_bytes = 0;
    for (int i = 0; i < work_.candidate_count(); ++i) {
      workspace_bytes = std::max(workspace_bytes, work_.workspace_bytes(i));
    }
    workspace_ = device_array<char>(workspace_bytes);
  }

  // Where time is short it is for turns first: looks alone, at whatever clock the card had then,
  // would let chance decide.
  int run(double seconds, bool first_valid, const std::vector<int>& skipped) {
    end_ = after(seconds);
    const auto last_look = after(std::max(seconds - kContestS, seconds / 2));
    std::vector<Runner> runners;
    double best = INFINITY;
    for (int i = 0; i < work_.candidate_count(); ++i) {
      if (std::find(skipped.begin(), skipped.end(), i) != skipped.end()) continue;
      if (!runners.empty() && (Clock::now() >= last_look || first_valid)) break;
      Runner runner{i};
      if (!admit(runner, best)) continue;
      if (runners.empty()) warm_up(runner);
      best = std::min(best, median(runner.us));
      runners.push_back(std::move(runner));
    }
    if (!runners.empty()) hold(runners);
    for (const Runner& r : runners) {
      std::printf("time %d %.4f %.4f\n", r.number, median(r.us), spread(r.us));
    }
    std::printf("done\n");
    return 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static Clock::time_point after(double seconds) {
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  void begin(const Runner& runner) {
    std::printf("begin %d\n", runner.number);
    std::fflush(stdout);
    watchdog_.step();
  }

  bool launch(const Runner& runner, int64_t turn) const {
    tessera_call call = {};
    call.struct_bytes = sizeof call;
    call.device = {TESSERA_CUDA, 0};
    call.stream = stream_;
    call.set_error = set_error;
    call.workspace = workspace_;
    call.workspace_bytes = uint64_t(work_.workspace_bytes(runner.number));
    return work_.launch(runner.number, turn % work_.turns(), call);
  }

  // Of a call after its launches: what a kernel does wrong is told by any later one, and from then
  // on the device is of no use to this process.
  static void must_be_well(const Runner& runner, cudaError_t status) {
    if (status == cudaSuccess) return;
    std::printf("failed %d %s\n", runner.number, cudaGetErrorString(status));
    std::fflush(stdout);
    _exit(4);
  }

  std::string compare_result(const Runner& runner) const {
    Difference found;
    must_be_well(runner, work_.result().compare(stream_, found));
    return work_.result().mistake(found);
  }

  std::string check(const Runner& runner) const {
    work_.result().fill_with_nan(stream_);
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
  int64_t launches() const {
    return (kLaunches + work_.turns() - 1) / work_.turns() * work_.turns();
  }

  // Right, before and after replays under load; then it has a first time. What is far behind gets
  // no second one.
  bool admit(Runner& runner, double best) {
    begin(runner);
    std::string why = check(runner);
    if (why.empty() && !capture(runner)) why = "it cannot be captured: " + last_error();
    if (why.empty()) {
      do measure(runner, 1, 1);
      while (runner.us.size() < 3 && runner.us.back() < 2 * best);
      why = compare_result(runner);
    }
    // Of a refused one a part may run; the next one is not to be blamed for that.
    must_be_well(runner, cudaStreamSynchronize(stream_));
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
    const auto until = after(kWarmUpS);
    while (Clock::now() < until) measure(runner, 1, 1);
    runner.us.erase(runner.us.begin(), runner.us.end() - std::min<long>(3, long(runner.us.size())));
    watchdog_.rest();
  }

  // Replays that nobody times put caches and clocks where they are in a steady run.
  void measure(Runner& runner, int untimed, int timed) {
    const auto replay = [&](int times) {
      for (int i = 0; i < times; ++i) must_be_well(runner, cudaGraphLaunch(runner.graph, stream_));
    };
    replay(untimed);
    must_be_well(runner, cudaEventRecord(from_, stream_));
    replay(timed);
    must_be_well(runner, cudaEventRecord(to_, stream_));
    must_be_well(runner, cudaStreamSynchronize(stream_));
    float ms = 0;
    must_be_well(runner, cudaEventElapsedTime(&ms, from_, to_));
    runner.us.push_back(ms * 1e3 / double(launches() * timed));
  }

  // Those near the best, and the one that is taken without records, take turns, so that all of them
  // meet the card in the same state; a round begins with another one each time. First times, of a
  // card that may have been cool, are forgotten.
  void hold(std::vector<Runner>& runners) {
    std::vector<Runner*> finalists, others;
    for (Runner& r : runners) finalists.push_back(&r);
    std::stable_sort(finalists.begin(), finalists.end(), [](const Runner* x, const Runner* y) {
      return median(x->us) < median(y->us);
    });
    const Runner* leader = finalists.front();
    const double first_us = median(leader->us);
    for (auto at = finalists.begin(); at != finalists.end();) {
      const bool stays = (*at)->number == 0 || (median((*at)->us) <= kHopeless * first_us &&
                                                at - finalists.begin() < kFinalists);
      if (!stays) others.push_back(*at);
      at = stays ? at + 1 : finalists.erase(at);
    }
    const auto until = after(kContestS);
    for (int round = 0; round == 0 || goes_on(round, finalists.size(), until); ++round) {
      std::rotate(finalists.begin(), finalists.begin() + 1, finalists.end());
      for (Runner* r : finalists) take_turn(*r, round);
      if (round + 1 == kLookAfter) drop_slower(finalists);
    }
    // The others' first times, as the leader's shows what the state of the card has made of them.
    for (Runner* r : others) {
      for (double& us : r->us) us *= median(leader->us) / first_us;
    }
  }

  bool goes_on(int round, size_t finalists, Clock::time_point until) const {
    if (round == kRounds || Clock::now() >= end_) return false;
    return round < kLeastRounds || (finalists > 1 && Clock::now() < until);
  }

  void take_turn(Runner& runner, int round) {
    const double replay_us = median(runner.us) * double(launches());
    const auto replays = [&](double us) { return int(std::clamp(us / replay_us, 1.0, 250.0)); };
    if (round == 0) runner.us.clear();
    begin(runner);
    measure(runner, replays(kUntimedUs), replays(kReplayUs));
    watchdog_.rest();
  }

  static void drop_slower(std::vector<Runner*>& finalists) {
    double best = INFINITY;
    for (const Runner* r : finalists) best = std::min(best, median(r->us));
    std::erase_if(finalists, [&](const Runner* r) { return median(r->us) > kClose * best; });
  }

  const MeasuredWork& work_;
  void* workspace_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t from_ = nullptr, to_ = nullptr;
  Clock::time_point end_;
  Watchdog watchdog_;
};

template <class Work>
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
  static Work work;  // the watchdog outlives the end of main
  static Contest contest(work);
  return contest.run(std::atof(argv[1]), std::atoi(argv[2]) != 0, skipped);
}

}  // namespace tessera::cutlass::measure
