// SPDX-License-Identifier: Apache-2.0
// What programs that were built take: the times of MeasuredCosts.
#include <algorithm>
#include <array>

#include "driver/measured_costs.h"
#include "driver/run_chains.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using collage::Cost;

constexpr std::string_view kRun = "collage run";  // the key of what any run takes

}  // namespace

ProgramTiming MeasuredCosts::timing() const {
  ProgramTiming how = timing_of_parts(options_, model_bytes_);
  how.run = run_seconds_;
  return how;
}

// Chains of kernels that do next to nothing: what a run takes beside them is where the line through
// their times begins.
Result<void> MeasuredCosts::measure_run() {
  const tune::RecordKey key{std::string(kRun), how_timed(options_), services_.device,
                            services_.toolchain.identity(), ""};
  TESSERA_TRY(const tune::Records found, services_.records.find(key));
  if (!found.list.empty()) {
    run_seconds_ = found.list.front().time_us * 1e-6;
    return {};
  }
  if (!options_.tuning.measures) return {};
  constexpr int kFew = 1, kMany = 9;
  std::vector<TimedProgram> chains;
  TESSERA_TRY(const EntryFile file, chain_library(std::array{kFew, kMany}, build_options_,
                                                  services_.code, services_.toolchain));
  for (const auto& [name, program] : file.programs()) chains.push_back({program});
  ProgramTiming one_by_one = timing();
  one_by_one.repeats = 1;
  const std::vector<tune::Measured> times = time_each(chains, one_by_one, command_);
  const double few = times[0].time_us, many = times[1].time_us;
  if (!times[0].failure.empty() || !times[1].failure.empty()) return {};
  constexpr double kLeastUs = 1e-3;  // a time, as records have them
  const double run_us = std::max(kLeastUs, few - kFew * (many - few) / (kMany - kFew));
  run_seconds_ = run_us * 1e-6;
  return services_.records.add({key, "collage", run_us, 0, ""});
}

void MeasuredCosts::run(std::span<Job* const> jobs) {
  std::vector<Job*> timed;
  std::vector<TimedProgram> programs;
  for (Job* job : jobs) {
    if (!job->program_now) continue;
    const auto reference = native_programs_.find(job->numbers);
    timed.push_back(job);
    const bool is_known = reference != native_programs_.end();
    programs.push_back(
        {job->program_now, is_known ? reference->second : LibraryProgram{}, job->tolerance});
  }
  const std::vector<tune::Measured> times = time_each(programs, timing(), command_);
  for (std::size_t i = 0; i < timed.size(); ++i) set_cost(*timed[i], times[i]);
}

void MeasuredCosts::set_cost(Job& job, const tune::Measured& measured) {
  job.measured = measured;
  job.cost = measured.failure.empty() ? Cost::of(measured.time_us * 1e-6)
                                      : Cost::invalid(measured.failure);
}

// What else runs on the machine slows all of it for seconds, and so the programs that were timed
// then: of what takes a part of a second, looks that lie further apart than that have a median. A
// GPU is ours alone.
Result<void> MeasuredCosts::measure_again(std::vector<Job>& jobs) {
  constexpr int kLooks = 3, kRuns = 7;
  constexpr double kSeconds = 0.07;
  if (compute_target(options_.targets).device() != DeviceType::kCpu) return {};
  std::vector<Job*> timed;
  std::vector<TimedProgram> programs;
  std::vector<std::vector<tune::Measured>> looks;
  for (Job& job : jobs) {
    if (!job.program_now || !job.cost.is_known() || job.cost.is_invalid()) continue;
    timed.push_back(&job);
    programs.push_back({job.program_now});
    looks.push_back({job.measured});
  }
  ProgramTiming how = timing();
  how.runs = {1, kRuns, kSeconds};
  for (int i = 1; i < kLooks && seconds_left() > 0; ++i) {
    const std::vector<tune::Measured> times = time_each(programs, how, command_);
    for (std::size_t k = 0; k < times.size(); ++k) looks[k].push_back(times[k]);
  }
  for (std::size_t k = 0; k < timed.size(); ++k) {
    set_cost(*timed[k], middle_look(std::move(looks[k])));
    TESSERA_TRY_VOID(services_.records.replace(record_of(*timed[k])));
  }
  return {};
}

// Whoever is within a few percent of the fastest for the same work: in turns, since minutes lie
// between their first times.
Result<void> MeasuredCosts::look_again(std::vector<Job>& jobs) {
  constexpr double kNear = 1.05;
  std::map<std::string, std::vector<Job*>> alike;
  for (Job& job : jobs) {
    if (job.cost.is_invalid() || !is_of_one_size(job.program_now)) continue;
    alike[job.numbers].push_back(&job);
  }
  for (auto& [numbers, all] : alike) {
    if (seconds_left() <= 0) return {};
    const Job* best = *std::min_element(all.begin(), all.end(), [](const Job* a, const Job* b) {
      return a->cost.seconds() < b->cost.seconds();
    });
    const double limit = kNear * best->cost.seconds();
    std::erase_if(all, [&](const Job* job) { return job->cost.seconds() > limit; });
    if (all.size() < 2) continue;
    std::vector<LibraryProgram> programs;
    for (const Job* job : all) programs.push_back(job->program_now);
    const std::vector<tune::Measured> times = time_in_turns(programs, {}, timing(), command_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      set_cost(*all[i], times[i]);
      TESSERA_TRY_VOID(services_.records.replace(record_of(*all[i])));
    }
  }
  return {};
}

// Was it built now, and what it took is of the likely sizes alone?
bool MeasuredCosts::is_of_one_size(const LibraryProgram& program) const {
  if (!program) return false;
  return options_.tuning.largest_share <= 0 || program.likely == program.largest;
}

}  // namespace tessera::driver
