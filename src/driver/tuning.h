// SPDX-License-Identifier: Apache-2.0
// Measuring as a stage of a compilation, and the records that choices are read from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/placement.h"
#include "link/toolchain.h"
#include "tune/record_store.h"
#include "types/target.h"

namespace tessera::driver {

// Is it for a back end that measures, or keeps what it makes on a device, be that one available
// here or not?
bool measures(const Target& target);
// The targets to add where none of them is such a back end; "" where one is.
std::string help_to_measure(const std::vector<Target>& targets);

// Where --tune or --records is given, and no target is such a back end.
std::optional<Diagnostic> vain_tuning(const CompileOptions& options);

// What can be measured of the regions of all back ends; each piece of work once.
std::vector<byoc::TuningTask> tuning_tasks(const Partitioned& parts);

// The file that records are read from and written to: options.records, or one beside the cached
// objects. An error if there is no place for one.
Result<std::string> records_path(const CompileOptions& options);

// What of a file that is there will not be taken: damaged rows, records of other GPUs and kernels.
Result<void> warn_of_skipped(const std::string& path, const std::vector<byoc::TuningTask>& tasks,
                             std::vector<Diagnostic>& warnings);

// What to do where all that was tried failed.
std::string help_after_failures(const std::string& path);

// Those of records_path; an error if there is no such file. It warns of the same, and of what has
// no time, though it has just been measured perhaps.
Result<tune::RecordStore> read_records(const CompileOptions& options,
                                       const std::vector<byoc::TuningTask>& tasks,
                                       std::vector<Diagnostic>& warnings);

// Measures on this machine's GPU what has no record; without a GPU that the targets are for,
// nothing is written.
Result<std::vector<tune::TuneRow>> measure(const std::vector<byoc::TuningTask>& tasks,
                                           const CompileOptions& options,
                                           link::Toolchain& toolchain, const Progress& progress);

// An error where something kept what has no time from being measured, other than the budget; a
// warning where it kept some of the candidates. Those that fail by themselves are neither.
Result<void> check_measured(const std::vector<tune::TuneRow>& rows,
                            std::vector<Diagnostic>& warnings);

}  // namespace tessera::driver
