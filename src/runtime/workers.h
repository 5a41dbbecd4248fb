// SPDX-License-Identifier: Apache-2.0
// The threads that help an instance with generated loops. A loop is cut into pieces, the same for
// any number of helpers; who is free takes the next one, and the calling thread takes all that
// nobody has begun. So a helper whose CPU another program has delays a run by the piece that it is
// in, never by its share of the loop.
//
// Helpers are made by the first loop that could use them. Without work they spin for microseconds
// and then sleep; they end with the instance. After a fork the child makes its own.
#pragma once

#include <atomic>
#include <cstdint>

#include <pthread.h>
#include <sched.h>

#include "runtime/array.h"
#include "runtime/fork.h"
#include "tessera/call.h"
#include "tessera/model.h"

namespace tessera::runtime {

class Workers {
 public:
  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { stop(); }

  // At most `threads` threads, the calling one included. To be called once. A status.
  std::int32_t set_up(std::int32_t threads, const tessera_instance_options& options);

  // tessera_parallel_for, of the one thread that runs the instance.
  std::int32_t run(std::int64_t n, tessera_range_fn fn, void* closure);

 private:
  struct Loop;
  struct Helper {
    Workers* workers;
    std::int32_t worker;
    pthread_t thread;
  };

  static void* helper_main(void* helper);
  static void run_by_pool(void* loop, std::int32_t index);

  // What the calling thread does.
  void run_with_helpers(Loop& loop);
  void forget_helpers_of_parent();
  void start_helpers();
  void post(Loop& loop);
  void close();
  void stop();

  // What helpers do.
  void help(std::int32_t worker);
  bool enter();
  void leave();
  void wait_for_post(std::uint32_t seen);

  std::int32_t threads_ = 1;
  tessera_thread_pool pool_ = {};
  std::int32_t nice_ = 0;
  bool has_affinity_ = false;
  cpu_set_t affinity_;

  Array<Helper> helpers_;
  std::int32_t started_ = 0;
  bool are_started_ = false;
  std::uint32_t forks_ = num_forks();  // when the helpers were made

  Loop* loop_ = nullptr;
  // kOpen while there are pieces to take, and how many helpers are in the loop.
  std::atomic<std::uint32_t> gate_{0};
  std::atomic<std::uint32_t> posts_{0};  // loops so far; helpers sleep on it
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<bool> is_caller_asleep_{false};  // on gate_
  std::atomic<bool> is_ending_{false};
};

}  // namespace tessera::runtime
