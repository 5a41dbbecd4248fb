// SPDX-License-Identifier: Apache-2.0
// Checks of our own invariants. A failing check is a bug of tessera, never the user's fault; user
// errors are diagnostics (diagnostics/diagnostic.h).
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace tessera {

// Thrown by TESSERA_CHECK; caught only by main and by the C boundary of the command.
class InternalError : public std::exception {
 public:
  InternalError(std::string message, std::vector<std::string> contexts);
  const char* what() const noexcept override { return what_.c_str(); }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& contexts() const { return contexts_; }  // outermost first

 private:
  std::string message_;
  std::vector<std::string> contexts_;
  std::string what_;
};

// Says what this thread is doing ("in pass fuse-ops") for as long as it lives.
class CheckContext {
 public:
  explicit CheckContext(std::string what);
  ~CheckContext();
  CheckContext(const CheckContext&) = delete;
  CheckContext& operator=(const CheckContext&) = delete;
};

[[noreturn]] void check_failed(std::string_view condition, const char* file, int line,
                               std::string message);

}  // namespace tessera

// TESSERA_CHECK(cond) or TESSERA_CHECK(cond, "found {} where {} was due", a, b).
#define TESSERA_CHECK(cond, ...)                                                    \
  do {                                                                              \
    if (!(cond)) [[unlikely]]                                                       \
      ::tessera::check_failed(#cond, __FILE__, __LINE__,                            \
                              std::string(__VA_OPT__(::fmt::format(__VA_ARGS__)))); \
  } while (false)

#define TESSERA_UNREACHABLE(...)                             \
  ::tessera::check_failed("unreachable", __FILE__, __LINE__, \
                          std::string(__VA_OPT__(::fmt::format(__VA_ARGS__))))
