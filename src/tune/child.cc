// SPDX-License-Identifier: Apache-2.0
#include "tune/child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/subprocess.h"
#include "support/termination.h"

namespace tessera::tune {
namespace {

// The exit status of a child whose work threw, and how its last line begins.
constexpr int kThrew = 70;
constexpr std::string_view kThrewLine = "threw ";

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// The parent cleans up, not its copy.
void forget_handlers() {
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void be_child(int file, const std::function<void(const Print&)>& work) {
  ::setpgid(0, 0);
  forget_handlers();
  int status = 0;
  try {
    work([file](std::string_view text) { write_all(file, text); });
  } catch (const std::exception& e) {
    write_all(file, fmt::format("{}{}\n", kThrewLine, e.what()));
    status = kThrew;
  }
  ::_exit(status);  // nothing of the parent's is written or freed twice
}

// Reads until the end, or until nothing came for so long; false in that case.
bool read_all(int file, double silence_limit_s, std::string& output) {
  std::array<char, 4096> buffer;
  for (;;) {
    pollfd wait{file, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(silence_limit_s * 1000));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return false;
    const ssize_t n = ::read(file, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    output.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::string outcome(int status, std::string_view output) {
  const std::size_t threw = output.rfind(kThrewLine);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kThrew && threw != std::string_view::npos) {
    return std::string(output.substr(threw, output.find('\n', threw) - threw));
  }
  ProcessResult ended;
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.exit_status = WEXITSTATUS(status);
  return ended.ok() ? "" : ended.outcome();
}

}  // namespace

ChildResult run_in_child(const std::function<void(const Print&)>& work, double silence_limit_s) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {"", fmt::format("no pipe: {}", ::strerror(errno))};
  const RunningProgram child([&](pid_t& pid) {
    pid = ::fork();
    if (pid < 0) return errno;
    if (pid == 0) {
      ::close(ends[0]);
      be_child(ends[1], work);
    }
    ::setpgid(pid, pid);
    return 0;
  });
  ::close(ends[1]);
  ChildResult result;
  if (child.problem() != 0) {
    result.problem = fmt::format("no process: {}", ::strerror(child.problem()));
  } else {
    const bool ended = read_all(ends[0], silence_limit_s, result.output);
    if (!ended) ::kill(-child.pid(), SIGKILL);
    int status = 0;
    while (::waitpid(child.pid(), &status, 0) < 0 && errno == EINTR) {
    }
    result.problem = ended ? outcome(status, result.output) : "it hangs";
  }
  ::close(ends[0]);
  return result;
}

}  // namespace tessera::tune
