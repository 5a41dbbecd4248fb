// SPDX-License-Identifier: Apache-2.0
#include "driver/slow_loops.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/loop_times.h"
#include "driver/placement_table.h"
#include "driver/slow_products.h"
#include "driver/step_costs.h"
#include "plan/symbol_text.h"
#include "tir/walk.h"
#include "types/likely_size.h"

namespace tessera::driver {
namespace {

using Sizes = std::map<std::string, Dim>;

// Told are loops that take this part of the model's time, and that long.
constexpr double kMuch = 0.25, kLongNs = 200e3;
constexpr double kRoundsOfLoop = 16;
constexpr std::size_t kToldLoops = 3;

// Of a back end's function.
constexpr double kNsPerFlop = 0.02, kNsPerByte = 0.05;

// How often each step of the program runs, in the order of its text.
void add_repetitions(const tir::Stmt& block, double times, const Sizes& likely,
                     std::vector<double>& out) {
  tir::BlockWalk walk(block);
  while (const tir::Stmt* s = walk.next()) {
    if (s->as<tir::CallKernel>() != nullptr) out.push_back(times);
    double inside = times;
    if (const auto* loop = s->as<tir::For>()) {
      inside *= static_cast<double>(likely_value(size_of(loop->extent), likely));
    } else if (s->as<tir::While>() != nullptr) {
      inside *= kRoundsOfLoop;
    } else if (s->as<tir::IfThenElse>() == nullptr) {
      continue;
    }
    tir::for_each_child(*s,
                        [&](const tir::Stmt& body) { add_repetitions(body, inside, likely, out); });
  }
}

// All calls of a kernel.
struct Slow {
  std::string symbol;
  double ns = 0;
  LoopTime of_a_call;
};

struct Estimate {
  double all_ns = 0;
  std::map<std::string, Slow> slow;  // by kernel
};

bool is_told_as_product(const Extern& callee, double flops) {
  const PlacementRow row{"", callee.backend, callee.operators, callee.sources, ""};
  return heavy_operator(row) != nullptr && flops >= 2 * kManyMultiplications;
}

class Estimator {
 public:
  Estimator(const Module& lowered, bool converts_halves)
      : lowered_(lowered),
        likely_(likely_sizes(lowered.symbols)),
        converts_halves_(converts_halves) {}

  Estimate run() {
    std::vector<double> times;
    add_repetitions(lowered_.prim_funcs.at("main").body, 1, likely_, times);
    const std::vector<StepCost> steps = step_costs(lowered_);
    TESSERA_CHECK(times.size() == steps.size(), "{} steps run {} times", steps.size(),
                  times.size());
    for (std::size_t i = 0; i < steps.size(); ++i) add(steps[i], times[i]);
    return std::move(out_);
  }

 private:
  double number_or_nothing(const Dim& size) const {
    return static_cast<double>(size.substitute(likely_).as_constant().value_or(0));
  }

  // Layers of a model share kernels.
  const LoopTime& time_of(const std::string& symbol, const tir::PrimFunc& kernel,
                          const std::vector<std::int64_t>& dims) {
    const auto [known, fresh] = known_.try_emplace({symbol, dims});
    if (fresh) known->second = loop_time(kernel, dims, converts_halves_);
    return known->second;
  }

  void add(const StepCost& step, double times) {
    const double flops = number_or_nothing(step.flops);
    const auto kernel = lowered_.prim_funcs.find(step.kernel);
    if (kernel == lowered_.prim_funcs.end()) {
      out_.all_ns += times * (kNsPerFlop * flops + kNsPerByte * number_or_nothing(step.bytes));
      return;
    }
    std::vector<std::int64_t> dims;
    for (const Dim& d : step.dims) dims.push_back(likely_value(d, likely_));
    const LoopTime& time = time_of(step.kernel, kernel->second, dims);
    out_.all_ns += times * time.ns;
    if (time.scalar_ns < time.ns / 2) return;
    if (is_told_as_product(lowered_.externs.at(step.kernel), flops)) return;
    Slow& slow = out_.slow.try_emplace(step.kernel, Slow{step.kernel, 0, time}).first->second;
    slow.ns += times * time.scalar_ns;
  }

  const Module& lowered_;
  const Sizes likely_;
  bool converts_halves_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, LoopTime> known_;
  Estimate out_;
};

std::string reason(const LoopTime& time) {
  switch (time.why) {
    case WithoutVectors::kPlain:
      return "most of what it stores is in no loop whose iterations are known to be independent";
    case WithoutVectors::kChecked:
      return "a check of an index or a size may end its loop";
    case WithoutVectors::kShort:
      return fmt::format("its innermost loop has {} iterations, too few for a vector", time.what);
    case WithoutVectors::kFunction:
      return fmt::format("`{}` is computed by the C library, one element after the other",
                         time.what);
    case WithoutVectors::kDivision:
      return "it divides integers, for which there are no vector instructions";
    case WithoutVectors::kHalves:
      return "the processor named by -mcpu has no instructions that convert float16";
  }
  TESSERA_UNREACHABLE("no reason {}", static_cast<int>(time.why));
}

std::string finding(const Slow& slow, double all_ns, const Extern& callee,
                    const PlacementFacts& facts) {
  const PlacementRow row{slow.symbol, callee.backend, callee.operators, callee.sources, ""};
  const std::string declined = reason_of(row, facts);
  return fmt::format("`{}` takes about {:.0f} % of the model's time: {}{}",
                     callee.operators.empty() ? slow.symbol : operators_text(callee.operators),
                     100 * slow.ns / all_ns, reason(slow.of_a_call),
                     declined.empty() ? "" : "; " + declined);
}

std::string sizes_remedy(const Module& lowered) {
  const tir::PrimFunc& main = lowered.prim_funcs.at("main");
  std::set<std::string> options;
  for (const auto& [symbol, range] : lowered.symbols) {
    options.insert(fmt::format("--dim {}=...", plan::name_in_model(main, symbol)));
  }
  return fmt::format(
      "give numbers for the sizes that the model leaves open, with which more loops can be joined "
      "and cut: {}",
      fmt::join(options, " "));
}

std::string remedy(const Slow& slow, const Module& lowered) {
  switch (slow.of_a_call.why) {
    case WithoutVectors::kChecked:
      return "--unchecked-indices leaves the checks of indices out, where all data are known to be "
             "right";
    case WithoutVectors::kHalves:
      return "give a later processor, -mcpu=x86-64-v3 say, or export the model in float32";
    case WithoutVectors::kDivision:
    case WithoutVectors::kShort:
      if (!lowered.symbols.empty()) return sizes_remedy(lowered);
      break;
    case WithoutVectors::kPlain:
    case WithoutVectors::kFunction:
      break;
  }
  return "change what the reasons name, where the model can be changed";
}

// The longest first, of equal ones by name.
std::vector<Slow> sorted(const Estimate& estimate) {
  std::vector<Slow> all;
  for (const auto& [symbol, slow] : estimate.slow) all.push_back(slow);
  std::stable_sort(all.begin(), all.end(),
                   [](const Slow& a, const Slow& b) { return a.ns > b.ns; });
  return all;
}

}  // namespace

std::optional<Diagnostic> slow_loops(const Module& lowered, const PlacementFacts& facts,
                                     bool converts_halves) {
  const Estimate estimate = Estimator(lowered, converts_halves).run();
  const std::vector<Slow> all = sorted(estimate);
  double ns = 0;
  for (const Slow& slow : all) ns += slow.ns;
  if (ns < kLongNs || ns < kMuch * estimate.all_ns) return std::nullopt;
  const auto place = [&](const Slow& slow) {
    const std::vector<Location>& sources = lowered.externs.at(slow.symbol).sources;
    return sources.empty() ? Location() : sources.front();
  };
  const auto told = [&](const Slow& slow) {
    return finding(slow, estimate.all_ns, lowered.externs.at(slow.symbol), facts);
  };
  Diagnostic d = warning(Code::kSlowCode, place(all[0]),
                         "the main loops of {} of the generated kernels use no vectors, and take "
                         "about {:.0f} % of the model's time{}; {}",
                         all.size(), 100 * ns / estimate.all_ns,
                         lowered.symbols.empty() ? "" : " at likely sizes", told(all[0]))
                     .with_remedy(remedy(all[0], lowered));
  for (std::size_t i = 1; i < std::min(all.size(), kToldLoops); ++i) {
    if (all[i].ns < 0.1 * ns) break;
    d.notes.push_back({Severity::kNote, Code::kSlowCode, place(all[i]), told(all[i]), {}, {}});
  }
  return d;
}

}  // namespace tessera::driver
