// SPDX-License-Identifier: Apache-2.0
#include "tests/model_fuzz/apart.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/testing/environment.h"

namespace tessera::model_fuzz {
namespace {

// Seconds of the processor. A small model takes no more, and no more memory than is set below.
constexpr rlim_t kMostSeconds = 20;

void set_limits() {
  const rlimit time{kMostSeconds, kMostSeconds};
  setrlimit(RLIMIT_CPU, &time);
#ifndef TESSERA_SANITIZED
  constexpr rlim_t kMostBytes = rlim_t{2} << 30;  // a sanitizer's shadow is larger
  const rlimit memory{kMostBytes, kMostBytes};
  setrlimit(RLIMIT_AS, &memory);
#endif
}

int outcome_in_peace(const std::function<int()>& compile) {
  try {
    return compile();
  } catch (const InternalError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return kInternalError;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return kOtherException;
  }
}

}  // namespace

int outcome_of(const Diagnostics& errors) {
  const bool says_nothing = std::any_of(errors.list.begin(), errors.list.end(),
                                        [](const Diagnostic& d) { return d.message.empty(); });
  return errors.empty() || says_nothing ? kInternalError : kRefused;
}

std::string run_apart(const std::function<int()>& compile, std::map<std::string, int>& counts) {
  const pid_t child = fork();
  if (child == 0) {
    set_limits();
    const int outcome = outcome_in_peace(compile);
    std::fflush(nullptr);
    _exit(outcome);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  switch (WEXITSTATUS(status)) {
    case kCompiled:
      ++counts["compiled"];
      return "";
    case kRefused:
      ++counts["refused"];
      return "";
    default:
      return fmt::format("exit status {}", WEXITSTATUS(status));
  }
}

Budget::Budget()
    : seed_(testing::number_of("TESSERA_FUZZ_SEED",
                               static_cast<std::uint64_t>(std::time(nullptr) / 86400))),
      models_(testing::number_of("TESSERA_FUZZ_MODELS", 0)),
      end_(std::chrono::steady_clock::now() +
           std::chrono::seconds(testing::number_of("TESSERA_FUZZ_SECONDS", 5))) {}

bool Budget::has(std::uint64_t n) const {
  return models_ > 0 ? n < models_ : std::chrono::steady_clock::now() < end_;
}

std::string path_of(const Budget& budget, std::uint64_t n, const std::string& ending) {
  const std::filesystem::path folder = TESSERA_BUILD_DIR "/model_fuzz";
  std::filesystem::create_directories(folder);
  return (folder / fmt::format("{}-{}{}", budget.seed(), n, ending)).string();
}

}  // namespace tessera::model_fuzz
