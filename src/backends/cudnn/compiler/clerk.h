// SPDX-License-Identifier: Apache-2.0
// A process that answers questions with a library that this process must not start: cuDNN may start
// CUDA, and children of a process that did cannot use the device, as those must that measure.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace tessera::backends::cudnn {

class Clerk {
 public:
  using Answer = std::function<std::string(const std::string& question)>;

  // The process is forked at the first question, and again where it has ended.
  explicit Clerk(Answer answer) : answer_(std::move(answer)) {}
  Clerk(const Clerk&) = delete;
  Clerk& operator=(const Clerk&) = delete;
  ~Clerk();

  // One question at a time. False: it ended instead of answering; `*answer` says how.
  [[nodiscard]] bool ask(const std::string& question, std::string* answer);

 private:
  bool start(std::string* why);
  std::string stop();

  Answer answer_;
  pid_t process_ = -1;
  pid_t parent_ = -1;  // which forked it
  int socket_ = -1;
};

}  // namespace tessera::backends::cudnn
