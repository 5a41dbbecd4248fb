// SPDX-License-Identifier: Apache-2.0
// Some work of generated code can be done by several algorithms (schedule/algorithms.h). Here they
// are measured, each in the kernel that it is a part of, and kept in the records as `native`.
#pragma once

#include <string>
#include <vector>

#include "driver/machine_code.h"
#include "driver/program_timing.h"
#include "link/toolchain.h"
#include "module/module.h"
#include "relay/function.h"
#include "schedule/algorithms.h"
#include "tune/record_store.h"
#include "tune/tuner.h"

namespace tessera::driver {

// Of the algorithms: another one where some become faster or slower. Then all are measured again,
// and what they are part of.
inline constexpr const char* kVersionOfAlgorithms = "algorithms 1";
// Is there an operator in it whose work may have several?
bool may_have_algorithms(const relay::Function& f);

struct AlgorithmServices {
  const MachineCode& code;
  link::Toolchain& toolchain;
  tune::RecordStore& records;
  std::string device;    // device_of_costs
  ProgramTiming timing;  // how a program of the model is timed
  double seconds = 0;    // of building and measuring, at most
};

// The fastest of each work that has a time on record.
Result<schedule::MeasuredAlgorithms> recorded_algorithms(const tune::RecordStore& records,
                                                         const std::string& device);

// A kernel of a module that does such work, as a program of its own.
struct AlgorithmTask {
  schedule::AlgorithmChoice choice;
  relay::Function kernel;
  double tolerance = 0;  // of its floats
  std::size_t uses = 1;  // kernels that do this work
};
// One for each work of the kernels of `module`, which is as lower_functions takes it.
Result<std::vector<AlgorithmTask>> algorithm_tasks(const Module& module, const MachineCode& code);

// The algorithms of tasks of `module` that have no record: their numbers are compared with the
// direct one's, then they take turns. A row for each task.
Result<std::vector<tune::TuneRow>> measure_algorithms(std::vector<AlgorithmTask> tasks,
                                                      const Module& module,
                                                      const AlgorithmServices& services);

}  // namespace tessera::driver
