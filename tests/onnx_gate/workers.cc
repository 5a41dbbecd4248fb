// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx_gate/workers.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

namespace tessera::onnx_gate {
namespace {

using Work = std::function<std::string(std::size_t)>;
using Done = std::function<void(std::size_t, const std::string&)>;

// A worker does `next`, `next + stride`, ... and sends for each the length of its text and the
// text.
struct Worker {
  std::size_t next = 0, stride = 1;
  pid_t pid = -1;
  int pipe = -1;
  std::string received;
};

void write_all(int fd, const void* data, std::size_t size) {
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t n = ::write(fd, at, size);
    if (n <= 0) ::_exit(1);
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

[[noreturn]] void child(const Worker& w, std::size_t count, unsigned seconds, const Work& work,
                        int fd) {
  for (std::size_t i = w.next; i < count; i += w.stride) {
    ::alarm(seconds);
    const std::string text = work(i);
    const std::uint64_t size = text.size();
    write_all(fd, &size, sizeof size);
    write_all(fd, text.data(), text.size());
  }
  ::_exit(0);
}

void start(Worker& w, std::size_t count, unsigned seconds, const Work& work) {
  int ends[2];
  TESSERA_CHECK(::pipe(ends) == 0, "no pipe");
  w.received.clear();
  w.pid = ::fork();
  TESSERA_CHECK(w.pid >= 0, "no process");
  if (w.pid == 0) {
    ::close(ends[0]);
    child(w, count, seconds, work, ends[1]);
  }
  ::close(ends[1]);
  w.pipe = ends[0];
}

void take_results(Worker& w, const Done& done) {
  std::uint64_t size = 0;
  while (w.received.size() >= sizeof size) {
    std::memcpy(&size, w.received.data(), sizeof size);
    if (w.received.size() - sizeof size < size) return;
    done(w.next, w.received.substr(sizeof size, size));
    w.received.erase(0, sizeof size + size);
    w.next += w.stride;
  }
}

// The process has ended: with all work done, or with what it was doing.
void finish(Worker& w, std::size_t count, unsigned seconds, const Work& work, const Done& done) {
  ::close(w.pipe);
  w.pipe = -1;
  int status = 0;
  ::waitpid(w.pid, &status, 0);
  if (w.next >= count) return;
  const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  done(w.next, late ? fmt::format("hang: took longer than {} seconds", seconds)
                    : fmt::format("crash: ended its process with {}",
                                  WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "exit"));
  w.next += w.stride;
  if (w.next < count) start(w, count, seconds, work);
}

}  // namespace

void run_in_workers(std::size_t count, std::size_t jobs, unsigned seconds_each, const Work& work,
                    const Done& done) {
  std::vector<Worker> workers(std::min(jobs, count));
  for (std::size_t i = 0; i < workers.size(); ++i) {
    workers[i].next = i;
    workers[i].stride = workers.size();
    start(workers[i], count, seconds_each, work);
  }
  while (true) {
    std::vector<pollfd> open;
    std::vector<Worker*> owners;
    for (Worker& w : workers) {
      if (w.pipe < 0) continue;
      open.push_back({w.pipe, POLLIN, 0});
      owners.push_back(&w);
    }
    if (open.empty()) return;
    ::poll(open.data(), open.size(), -1);
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].revents == 0) continue;
      char buffer[1 << 12];
      const ssize_t n = ::read(open[i].fd, buffer, sizeof buffer);
      if (n > 0) {
        owners[i]->received.append(buffer, static_cast<std::size_t>(n));
        take_results(*owners[i], done);
      } else {
        finish(*owners[i], count, seconds_each, work, done);
      }
    }
  }
}

}  // namespace tessera::onnx_gate
