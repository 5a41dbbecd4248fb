// SPDX-License-Identifier: Apache-2.0
#include "contest/contest.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tessera::contest {
namespace {

// As of the measuring programs of generated kernels (docs/tuning.md), so that times compare.
constexpr std::int64_t kLaunches = 24;  // of a graph, at least
constexpr double kWarmUpS = 0.5;
constexpr double kHopeless = 1.15;  // times the best: one short look is enough
constexpr std::ptrdiff_t kFinalists = 16;
constexpr double kUntimedUs = 10000, kReplayUs = 15000;  // of a turn, at least
constexpr double kClose = 1.03;                          // times the best: stays after the look
constexpr int kLookAfter = 5, kLeastRounds = 7, kRounds = 21;
constexpr double kContestS = 4;

constexpr int kSpoilt = 4;  // exit status

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double quantile(std::vector<double> list, std::size_t quarters) {
  std::sort(list.begin(), list.end());
  return list[list.size() * quarters / 4];
}
double median(const std::vector<double>& list) { return quantile(list, 2); }

struct Runner {
  std::size_t way;
  std::shared_ptr<void> graph = nullptr;
  std::vector<double> us = {};  // of one launch
};

class Contest {
 public:
  Contest(Device& device, Work& work, byoc::SearchReport& report)
      : device_(device), work_(work), report_(report) {}

  // Where time is short it is for turns first.
  void run(const byoc::Search& search) {
    end_ = after(search.seconds);
    const auto last_look = after(std::max(search.seconds - kContestS, search.seconds / 2));
    const std::size_t count = work_.ways().size();
    for (std::size_t i = 0; i < count; ++i) report_.found(i, work_.ways()[i]);
    std::vector<Runner> runners;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < count; ++i) {
      if (search.skipped.contains(i)) continue;
      if (!runners.empty() && (Clock::now() >= last_look || search.first_valid)) break;
      Runner runner{i};
      if (!admit(runner, best)) continue;
      if (runners.empty()) warm_up(runner);
      best = std::min(best, median(runner.us));
      runners.push_back(std::move(runner));
    }
    if (!runners.empty()) hold(runners);
    for (const Runner& r : runners) {
      report_.timed(r.way, median(r.us), quantile(r.us, 3) - quantile(r.us, 1));
    }
    report_.done();
  }

 private:
  std::int64_t launches() const {
    return (kLaunches + work_.turns() - 1) / work_.turns() * work_.turns();
  }

  // The next start goes on without the way.
  void must_be_well(const Runner& runner, const std::string& fault) {
    if (fault.empty()) return;
    report_.wrong(runner.way, fault);
    std::_Exit(kSpoilt);
  }

  std::string compare(const Runner& runner) {
    std::string fault, why = work_.mistake(&fault);
    must_be_well(runner, fault);
    return why;
  }

  std::string check(const Runner& runner) {
    work_.spoil();
    std::string why = work_.launch(runner.way, 0);
    return why.empty() ? compare(runner) : why;
  }

  // The last launch has the first weights again, so that its result can be checked.
  std::string capture(Runner& runner) {
    std::string why;
    runner.graph = device_.record(
        [&] {
          std::string refusal;
          for (std::int64_t i = 1; i <= launches() && refusal.empty(); ++i) {
            refusal = work_.launch(runner.way, i % work_.turns());
          }
          return refusal;
        },
        why);
    return why.empty() ? "" : "it cannot be captured: " + why;
  }

  // Right, before and after replays under load; then it has a first time. What is far behind gets
  // no second one.
  bool admit(Runner& runner, double best) {
    report_.begins(runner.way);
    std::string why = check(runner);
    if (why.empty()) why = capture(runner);
    if (why.empty()) {
      work_.spoil();
      do measure(runner, 1, 1);
      while (runner.us.size() < 3 && runner.us.back() < 2 * best);
      why = compare(runner);
    }
    // Of a refused one a part may run; the next one is not to be blamed for that.
    must_be_well(runner, device_.synchronize());
    if (!why.empty()) report_.wrong(runner.way, why);
    return why.empty();
  }

  // The clocks of a card that has to keep within its power are those of load only after a while.
  void warm_up(Runner& runner) {
    const auto until = after(kWarmUpS);
    while (Clock::now() < until) measure(runner, 1, 1);
    const auto left = std::min<std::ptrdiff_t>(3, std::ssize(runner.us));
    runner.us.erase(runner.us.begin(), runner.us.end() - left);
  }

  void measure(Runner& runner, int untimed, int timed) {
    double us = 0;
    must_be_well(runner, device_.replay(runner.graph.get(), untimed, timed, us));
    runner.us.push_back(us / static_cast<double>(launches()));
  }

  // Those near the best, and the one that is taken without records, take turns, so that all of them
  // meet the card in the same state; a round begins with another one each time.
  void hold(std::vector<Runner>& runners) {
    std::vector<Runner*> finalists, others;
    for (Runner& r : runners) finalists.push_back(&r);
    std::stable_sort(finalists.begin(), finalists.end(), [](const Runner* x, const Runner* y) {
      return median(x->us) < median(y->us);
    });
    const Runner* leader = finalists.front();
    const double first_us = median(leader->us);
    for (auto at = finalists.begin(); at != finalists.end();) {
      const bool stays = (*at)->way == 0 || (median((*at)->us) <= kHopeless * first_us &&
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

  bool goes_on(int round, std::size_t finalists, Clock::time_point until) const {
    if (round == kRounds || Clock::now() >= end_) return false;
    return round < kLeastRounds || (finalists > 1 && Clock::now() < until);
  }

  void take_turn(Runner& runner, int round) {
    const double replay_us = median(runner.us) * static_cast<double>(launches());
    const auto replays = [&](double us) {
      return static_cast<int>(std::clamp(us / replay_us, 1.0, 250.0));
    };
    if (round == 0) runner.us.clear();
    report_.begins(runner.way);
    measure(runner, replays(kUntimedUs), replays(kReplayUs));
  }

  static void drop_slower(std::vector<Runner*>& finalists) {
    double best = std::numeric_limits<double>::infinity();
    for (const Runner* r : finalists) best = std::min(best, median(r->us));
    std::erase_if(finalists, [&](const Runner* r) { return median(r->us) > kClose * best; });
  }

  Device& device_;
  Work& work_;
  byoc::SearchReport& report_;
  Clock::time_point end_;
};

}  // namespace

std::int64_t cold_copies(std::uint64_t bytes) {
  constexpr std::uint64_t kCold = std::uint64_t{128} << 20;
  constexpr std::int64_t kMost = 256;
  const auto fit = static_cast<std::int64_t>(kCold / std::max<std::uint64_t>(bytes, 1));
  return std::clamp<std::int64_t>(fit + 2, 2, kMost);
}

void run_contest(Device& device, Work& work, const byoc::Search& search,
                 byoc::SearchReport& report) {
  Contest(device, work, report).run(search);
}

}  // namespace tessera::contest
