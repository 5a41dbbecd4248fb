// SPDX-License-Identifier: Apache-2.0
#include "support/jobs.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera {
namespace {

class Queue {
 public:
  Queue(std::size_t count, const std::function<void(std::size_t)>& job)
      : count_(count), job_(job) {}

  void work() {
    std::size_t index = 0;
    while (take(index)) {
      try {
        job_(index);
      } catch (...) {
        fail(index, std::current_exception());
      }
    }
  }
  void rethrow() const {
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  bool take(std::size_t& index) {
    const std::lock_guard lock(mutex_);
    if (next_ == count_ || problem_) return false;
    index = next_++;
    return true;
  }
  void fail(std::size_t index, std::exception_ptr problem) {
    const std::lock_guard lock(mutex_);
    if (problem_ && failed_index_ < index) return;
    problem_ = std::move(problem);
    failed_index_ = index;
  }

  const std::size_t count_;
  const std::function<void(std::size_t)>& job_;
  std::mutex mutex_;
  std::size_t next_ = 0, failed_index_ = 0;
  std::exception_ptr problem_;
};

}  // namespace

void run_jobs(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& job) {
  Queue queue(count, job);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(count, threads); ++i) {
    others.emplace_back([&queue] { queue.work(); });
  }
  queue.work();
  for (auto& thread : others) thread.join();
  queue.rethrow();
}

}  // namespace tessera
