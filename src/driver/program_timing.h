// SPDX-License-Identifier: Apache-2.0
// What programs in library files take, measured by a process that begins with nothing of this one,
// as that of the model's user will: with threads of its own for whoever has threads. A program that
// crashes or hangs costs itself. Numbers are compared before anything is timed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "tune/worker_report.h"

namespace tessera::driver {

using Shapes = std::vector<std::vector<std::int64_t>>;  // of inputs

// A program as a process opens it.
struct LibraryProgram {
  std::string library;     // its file; "": there is none
  std::string entry = {};  // which of the file's programs (driver/entry_file.h); "": its model
  Shapes likely = {}, largest = {};

  explicit operator bool() const { return !library.empty(); }
};

struct TimedProgram {
  LibraryProgram program;
  LibraryProgram reference = {};  // what it must compute, where that is known
  double tolerance = 0;           // how far its floats may be from those, relative to the largest
};

// Runs that count: at least so many, and then at most so many, or so many seconds of them,
// whichever ends first.
struct RunLimits {
  int fewest = 3, most = 20;
  double seconds = 0.2;
};

struct ProgramTiming {
  int threads = 0;
  // The model has more of them than caches keep from run to run: then no run finds its own there.
  bool weights_of_memory = false;
  double warm_up = 0;  // seconds of runs that do not count
  // The same for what computes for long on a device, as a whole model does: such work comes to the
  // limit of the device's power, which then slows its clock.
  double settle = 0;
  double run = 0;  // seconds that any run takes beside what it computes: no part of a time
  // What the largest sizes of a range count, where the likely ones count the rest: 0 to 1.
  double largest_share = 0;
  // Computations of a run on a device, at least. Of many in a row each takes what it takes within a
  // model: the next kernel is launched while one ends.
  int repeats = 1;
  RunLimits runs = {};  // of each by itself
  bool on_gpu = false;  // whose turn it is (tune/turn_to_measure.h), and where the data stay
  // After so long without a word a program hangs: a first call may make plans for a while.
  double silence_s = 60;
};

struct Turns {
  int turns = 7;
  RunLimits of_turn = {1, 10, 0.05};
  // As in TimedProgram, where each is compared with the last one; below 0: nothing is compared.
  double tolerance = -1;
};

// Of one program that was looked at several times: the look in the middle. A failure is one of all.
tune::Measured middle_look(std::vector<tune::Measured> looks);

// `command`: the path of `tessera` (link::SupportFiles).

// Each by itself, in order. A time is the median of its runs, with the distance of the quartiles.
std::vector<tune::Measured> time_each(std::span<const TimedProgram> programs,
                                      const ProgramTiming& how, const std::string& command);

// Those that compute the same, at the likely sizes, in turns, so that what the machine does beside
// them is shared equally. One that fails has its failure, and the others take turns without it.
std::vector<tune::Measured> time_in_turns(std::span<const LibraryProgram> programs,
                                          const Turns& turns, const ProgramTiming& how,
                                          const std::string& command);

}  // namespace tessera::driver
