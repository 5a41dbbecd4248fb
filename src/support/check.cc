// SPDX-License-Identifier: Apache-2.0
#include "support/check.h"

namespace tessera {
namespace {

std::vector<std::string>& contexts_of_thread() {
  thread_local std::vector<std::string> contexts;
  return contexts;
}

}  // namespace

InternalError::InternalError(std::string message, std::vector<std::string> contexts)
    : message_(std::move(message)), contexts_(std::move(contexts)), what_(message_) {
  for (auto it = contexts_.rbegin(); it != contexts_.rend(); ++it) what_ += "\n  " + *it;
}

CheckContext::CheckContext(std::string what) { contexts_of_thread().push_back(std::move(what)); }
CheckContext::~CheckContext() { contexts_of_thread().pop_back(); }

void check_failed(std::string_view condition, const char* file, int line, std::string message) {
  std::string_view path = file;
  if (const auto at = path.rfind("/src/"); at != std::string_view::npos) path.remove_prefix(at + 1);
  throw InternalError(fmt::format("{}:{}: check `{}` failed{}{}", path, line, condition,
                                  message.empty() ? "" : ": ", message),
                      contexts_of_thread());
}

}  // namespace tessera
