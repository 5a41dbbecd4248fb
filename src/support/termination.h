// SPDX-License-Identifier: Apache-2.0
// What a signal that ends the process must not leave behind: the programs that it runs, and its
// temporary folders. The one list of the process: signals know no other place to find them.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace tessera {

// To be called once, by a command, before it starts a thread. From then on SIGHUP, SIGINT and
// SIGTERM, where they are not ignored, kill the programs, remove the folders, and end the process
// as they do by default. A program that only links this keeps its signals.
void clean_up_when_terminated();

// A program that runs as the leader of a process group, until it has been waited for.
class RunningProgram {
 public:
  // `spawn` starts it and gives an error number, or 0 and its id. No signal ends the process
  // between the start and the entry in the list.
  explicit RunningProgram(const std::function<int(pid_t&)>& spawn);
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram();
  int problem() const { return problem_; }  // an error number, if it was not started
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int problem_ = 0;
};

// While there is one, no signal ends the process: what it does at that moment is done whole. For
// moments alone, and none within another.
class Uninterrupted {
 public:
  Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
  ~Uninterrupted();
};

// A folder that is to go when the process is terminated, and that it is not any longer.
void remember_folder(const std::string& path);
void forget_folder(const std::string& path);

}  // namespace tessera
