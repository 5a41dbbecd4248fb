// SPDX-License-Identifier: Apache-2.0
#include "tools/progress_bar.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace tessera::tools {
namespace {

using std::chrono::milliseconds;

constexpr int kBarColumns = 30;
constexpr milliseconds kRedraw{100};
constexpr milliseconds kPlainLine{10'000};

// Early on there is nothing to estimate from.
std::string estimate(double share, double elapsed_s) {
  if (share < 0.05 || elapsed_s < 0.5) return "";
  return fmt::format(", about {:.0f} s left", elapsed_s * (1 - share) / share);
}

}  // namespace

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)),
      on_terminal_(isatty(STDERR_FILENO) != 0),
      begin_(Clock::now()),
      next_(on_terminal_ ? begin_ : begin_ + kPlainLine) {}

void ProgressBar::show(double share) {
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + (on_terminal_ ? kRedraw : kPlainLine);
  share = std::clamp(share, 0.0, 1.0);
  const std::string left = estimate(share, std::chrono::duration<double>(now - begin_).count());
  if (on_terminal_) {
    const auto full = static_cast<std::size_t>(share * kBarColumns);
    fmt::print(stderr, "\r\033[K{} [{}{}] {:.0f} %{}", what_, std::string(full, '#'),
               std::string(kBarColumns - full, '.'), 100 * share, left);
  } else {
    fmt::print(stderr, "{}: {:.0f} %{}\n", what_, 100 * share, left);
  }
  std::fflush(stderr);
  is_drawn_ = on_terminal_;
}

void ProgressBar::clear() {
  if (!is_drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  is_drawn_ = false;
}

}  // namespace tessera::tools
