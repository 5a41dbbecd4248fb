// SPDX-License-Identifier: Apache-2.0
// Runs in a process that was forked after runs with several threads.
#include "runtime/fork.h"

#include <functional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "runtime/device_fixture.h"
#include "runtime/model_fixture.h"

namespace tessera::runtime {
namespace {

// What `work` gives in a child, which has 20 s for it.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(work());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// y[i] = i; -1 in x[0]: an error.
std::int32_t write_places(const tessera_frame* frame) {
  if (static_cast<const float*>(frame->inputs[0])[0] == -1) {
    return tessera_call_failed(frame->call, "minus one is not allowed");
  }
  const auto part = [](void* y, std::int64_t begin, std::int64_t end, std::int32_t) {
    for (std::int64_t i = begin; i < end; ++i) static_cast<float*>(y)[i] = static_cast<float>(i);
    return std::int32_t{0};
  };
  return tessera_parallel_for(frame->call, 6, part, frame->outputs[0]);
}

class ForkTest : public ModelTest {
 protected:
  void create_with_threads(int threads) {
    program.entry = write_places;
    tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
    options.threads = threads;
    options.thread_cpus = cpus_;
    options.thread_cpu_count = 2;
    create_all(&options);
  }
  int run_and_check() {
    if (run() != TESSERA_OK) return 1;
    for (int i = 0; i < 6; ++i) {
      if (static_cast<const float*>(out_[0].data)[i] != i) return 2;
    }
    return 0;
  }

  const std::int32_t cpus_[2] = {0, 1};  // helpers also where this process has one CPU
};

TEST_F(ForkTest, AnInstanceOfTheParentRunsWithAllThreads) {
  create_with_threads(3);
  ASSERT_EQ(run_and_check(), 0);
  EXPECT_EQ(in_child([&] {
              for (int i = 0; i < 3; ++i) {
                if (const int wrong = run_and_check()) return wrong;
              }
              return 0;
            }),
            0);
  EXPECT_EQ(run_and_check(), 0);
}

TEST_F(ForkTest, SoDoOneOfTheChildAndOneOfItsOwnChild) {
  create_with_threads(3);
  ASSERT_EQ(run_and_check(), 0);
  const auto again = [&] {
    tessera_instance_destroy(instance_);
    out_[0] = out_[1] = {};
    tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
    options.threads = 3;
    if (tessera_instance_create(model_, &options, &instance_) != TESSERA_OK) return 3;
    return run_and_check();
  };
  EXPECT_EQ(in_child([&] {
              if (const int wrong = again()) return wrong;
              return in_child(again);
            }),
            0);
}

TEST_F(ForkTest, ErrorsReachTheThreadThatAsked) {
  create_with_threads(3);
  ASSERT_EQ(run_and_check(), 0);
  x_[0] = -1;
  EXPECT_EQ(in_child([&] {
              const bool told =
                  run() == TESSERA_KERNEL_FAILED &&
                  std::string(tessera_last_error()) == "the run failed: minus one is not allowed";
              return told ? 0 : 1;
            }),
            0);
}

TEST_F(ForkTest, OneThreadNeedsNoOther) {
  create_with_threads(1);
  ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(in_child([&] { return run() == TESSERA_OK ? 0 : 1; }), 0);
}

// A second thread of the child has nothing to do with the parent's.
TEST_F(ForkTest, AThreadThatTheChildMakesRuns) {
  create_with_threads(3);
  ASSERT_EQ(run_and_check(), 0);
  EXPECT_EQ(in_child([&] {
              int wrong = -1;
              std::thread([&] { wrong = run_and_check(); }).join();
              return wrong;
            }),
            0);
}

TEST_F(DeviceTest, ADeviceDoesNotFollowIntoAFork) {
  create();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(in_child([&] {
              const char* const sentence =
                  "this process is a fork of one that used the device, and what is on the device "
                  "does not follow: create the instance in a process whose parent has not used it";
              const int copies = device.copies;
              if (run() != TESSERA_INVALID_ARGUMENT) return 1;
              if (std::string(tessera_last_error()) != sentence) return 2;
              tessera_instance* other = nullptr;
              if (tessera_instance_create(model_, nullptr, &other) != TESSERA_INVALID_ARGUMENT) {
                return 3;
              }
              tessera_instance_destroy(instance_);
              tessera_model_destroy(model_);
              return device.copies == copies && device.streams == 1 ? 0 : 4;
            }),
            0);
  EXPECT_EQ(run(), TESSERA_OK) << tessera_last_error();
}

}  // namespace
}  // namespace tessera::runtime
