// SPDX-License-Identifier: Apache-2.0
#include "runtime/fork.h"

#include <atomic>
#include <cstdio>

#include <pthread.h>

#include "tessera/model.h"

namespace tessera::runtime {
namespace {

pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<std::uint32_t> forks{0};
pthread_t forked_thread;  // of this process, if there were forks

// The thread with new helpers, and what it is to do. Only the thread that came through the fork
// asks, so there is one piece of work at a time.
struct Deputy {
  bool exists, asked, answered;
  std::int32_t (*work)(void* data);
  void* data;
  std::int32_t status;
  char sentence[kErrorBytes];
};
Deputy deputy;
pthread_mutex_t deputy_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t deputy_wakes = PTHREAD_COND_INITIALIZER;

void before_fork() { pthread_mutex_lock(&fork_mutex); }
void after_fork() { pthread_mutex_unlock(&fork_mutex); }

// The only thread of the new process.
void in_child() {
  fork_mutex = PTHREAD_MUTEX_INITIALIZER;
  deputy_mutex = PTHREAD_MUTEX_INITIALIZER;
  deputy_wakes = PTHREAD_COND_INITIALIZER;
  deputy.exists = deputy.asked = deputy.answered = false;
  forked_thread = pthread_self();
  forks.fetch_add(1, std::memory_order_relaxed);
}

void* serve(void*) {
  pthread_mutex_lock(&deputy_mutex);
  while (true) {
    while (!deputy.asked) pthread_cond_wait(&deputy_wakes, &deputy_mutex);
    deputy.asked = false;
    pthread_mutex_unlock(&deputy_mutex);
    deputy.status = deputy.work(deputy.data);
    std::snprintf(deputy.sentence, sizeof deputy.sentence, "%s", tessera_last_error());
    pthread_mutex_lock(&deputy_mutex);
    deputy.answered = true;
    pthread_cond_broadcast(&deputy_wakes);
  }
  return nullptr;
}

bool make_deputy() {
  if (deputy.exists) return true;
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  deputy.exists = pthread_create(&thread, &attributes, serve, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  return deputy.exists;
}

}  // namespace

void watch_forks() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] { pthread_atfork(before_fork, after_fork, in_child); });
}

std::uint32_t num_forks() { return forks.load(std::memory_order_relaxed); }

ForkLock::ForkLock() { pthread_mutex_lock(&fork_mutex); }
ForkLock::~ForkLock() { pthread_mutex_unlock(&fork_mutex); }

bool lacks_helpers() {
  return num_forks() > 0 && pthread_equal(pthread_self(), forked_thread) != 0;
}

std::int32_t run_with_helpers(std::int32_t (*work)(void* data), void* data) {
  if (!make_deputy()) {
    return fail(TESSERA_OUT_OF_MEMORY,
                "this process is a fork, where OpenMP's threads do not exist, and the system gives "
                "no thread to make new ones: create the instance with one thread");
  }
  pthread_mutex_lock(&deputy_mutex);
  deputy.work = work;
  deputy.data = data;
  deputy.answered = false;
  deputy.asked = true;
  pthread_cond_broadcast(&deputy_wakes);
  while (!deputy.answered) pthread_cond_wait(&deputy_wakes, &deputy_mutex);
  pthread_mutex_unlock(&deputy_mutex);
  return deputy.status == TESSERA_OK ? deputy.status : fail(deputy.status, "%s", deputy.sentence);
}

}  // namespace tessera::runtime
