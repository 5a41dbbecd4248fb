// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/clerk.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/subprocess.h"

namespace tessera::backends::cudnn {
namespace {

bool send_all(int file, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::send(file, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool receive_all(int file, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::recv(file, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool send_text(int file, const std::string& text) {
  const std::uint64_t size = text.size();
  return send_all(file, &size, sizeof size) && send_all(file, text.data(), size);
}

bool receive_text(int file, std::string* text) {
  std::uint64_t size = 0;
  if (!receive_all(file, &size, sizeof size)) return false;
  text->resize(size);
  return receive_all(file, text->data(), size);
}

// Until nobody can ask any more.
[[noreturn]] void serve(int file, const Clerk::Answer& answer) {
  for (const int number : {SIGHUP, SIGTERM}) ::signal(number, SIG_DFL);
  ::signal(SIGINT, SIG_IGN);  // of the terminal: the parent decides
  for (std::string question; receive_text(file, &question);) {
    if (!send_text(file, answer(question))) break;
  }
  ::_exit(0);  // nothing of the parent's is written or freed twice
}

}  // namespace

Clerk::~Clerk() {
  if (process_ > 0 && parent_ == ::getpid()) stop();
}

bool Clerk::start(std::string* why) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    *why = fmt::format("no socket: {}", ::strerror(errno));
    return false;
  }
  parent_ = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    ::close(ends[0]);
    serve(ends[1], answer_);
  }
  ::close(ends[1]);
  socket_ = ends[0];
  if (process_ > 0) return true;
  *why = fmt::format("no process: {}", ::strerror(errno));
  ::close(ends[0]);
  return false;
}

std::string Clerk::stop() {
  ::close(socket_);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  ProcessResult ended;
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.exit_status = WEXITSTATUS(status);
  return ended.outcome();
}

bool Clerk::ask(const std::string& question, std::string* answer) {
  // A child of who forked it has a copy of the socket, and asks a process of its own.
  if (process_ > 0 && parent_ != ::getpid()) {
    ::close(socket_);
    process_ = -1;
  }
  if (process_ < 0 && !start(answer)) return false;
  if (send_text(socket_, question) && receive_text(socket_, answer)) return true;
  *answer = stop();
  return false;
}

}  // namespace tessera::backends::cudnn
