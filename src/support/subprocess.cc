// SPDX-License-Identifier: Apache-2.0
#include "support/subprocess.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/termination.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// Both ends close on exec and on destruction.
struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() = default;
  // The error number; 0 if there is none.
  int open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
    read_end = ends[0];
    write_end = ends[1];
    return 0;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    if (read_end >= 0) ::close(read_end);
    close_write_end();
  }
  void close_write_end() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const auto& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

// posix_spawn neither copies page tables nor runs our code in the child, however much is mapped
// here.
int spawn(const std::vector<std::string>& argv, const ProcessOptions& options, int out, int err,
          pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  if (!options.cwd.empty()) posix_spawn_file_actions_addchdir_np(&actions, options.cwd.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own, to be killed as one; signals that this process blocks are its own affair.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  const auto arguments = pointers(argv);
  const auto environment =
      options.environment ? pointers(*options.environment) : std::vector<char*>();
  const int problem =
      ::posix_spawnp(&pid, argv.front().c_str(), &actions, &attributes, arguments.data(),
                     options.environment ? environment.data() : environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return problem;
}

// Appends what can be read now; false at the end of the stream.
bool drain(int fd, std::string& text) {
  char buffer[1 << 14];
  while (true) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return count != 0;
    }
  }
}

constexpr Clock::time_point kNever = Clock::time_point::max();

// Milliseconds for poll until the deadline; -1: no limit.
int poll_timeout(Clock::time_point deadline) {
  if (deadline == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

// Collects output until the process has ended (`ended` hangs up) and its pipes are empty: a
// grandchild that keeps them open is not waited for.
void collect(pid_t pid, int out, int err, int ended, const ProcessOptions& options,
             ProcessResult& result) {
  Clock::time_point deadline = kNever;
  if (options.time_limit_s) {
    deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(*options.time_limit_s));
  }
  pollfd watched[] = {{out, POLLIN, 0}, {err, POLLIN, 0}, {ended, POLLIN, 0}};
  std::string* texts[] = {&result.out, &result.err};
  while (watched[2].revents == 0) {
    ::poll(watched, 3, poll_timeout(deadline));
    for (int i = 0; i < 2; ++i) {
      if (watched[i].revents != 0 && !drain(watched[i].fd, *texts[i])) watched[i].fd = -1;
    }
    if (Clock::now() >= deadline && watched[2].revents == 0) {
      ::kill(-pid, SIGKILL);
      result.timed_out = true;
      deadline = kNever;
    }
  }
  drain(out, result.out);
  drain(err, result.err);
}

}  // namespace

std::string ProcessResult::outcome() const {
  if (timed_out) return fmt::format("no end after {:.0f} s", seconds);
  if (signal != 0) return fmt::format("signal {} ({})", signal, ::strsignal(signal));
  return fmt::format("exit status {}", exit_status);
}

FileResult<ProcessResult> run_process(const std::vector<std::string>& argv,
                                      const ProcessOptions& options) {
  TESSERA_CHECK(!argv.empty());
  Pipe out, err, ended;
  for (Pipe* pipe : {&out, &err, &ended}) {
    if (const int problem = pipe->open()) {
      return Unexpected{FileError{argv.front(), std::error_code(problem, std::generic_category())}};
    }
  }
  const auto start = Clock::now();
  const RunningProgram program(
      [&](pid_t& pid) { return spawn(argv, options, out.write_end, err.write_end, pid); });
  if (const int problem = program.problem()) {
    return Unexpected{FileError{argv.front(), std::error_code(problem, std::generic_category())}};
  }
  const pid_t pid = program.pid();
  out.close_write_end();
  err.close_write_end();
  ::fcntl(out.read_end, F_SETFL, O_NONBLOCK);
  ::fcntl(err.read_end, F_SETFL, O_NONBLOCK);
  ProcessResult result;
  // Waits without reaping, so that the process id stays ours until collect() is through.
  std::thread waiter([&] {
    siginfo_t info;
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    ended.close_write_end();
  });
  collect(pid, out.read_end, err.read_end, ended.read_end, options, result);
  waiter.join();
  int status = 0;
  rusage usage{};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace tessera
