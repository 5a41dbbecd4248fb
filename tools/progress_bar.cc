// SPDX-License-Identifier: Apache-2.0
#include "tools/progress_bar.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/standard_error.h"

namespace tessera::tools {
namespace {

using std::chrono::milliseconds;

constexpr int kBarColumns = 30;
constexpr milliseconds kRedraw{100};
constexpr milliseconds kPlainLine{10'000};

}  // namespace

ProgressBar::ProgressBar(std::string what, double limit_s)
    : what_(std::move(what)),
      on_terminal_(isatty(STDERR_FILENO) != 0),
      begin_(Clock::now()),
      left_(limit_s) {}

void ProgressBar::show(double share) {
  share = std::clamp(share, 0.0, 1.0);
  const auto now = Clock::now();
  const auto seconds = left_.seen(share, std::chrono::duration<double>(now - begin_).count());
  if (!next_) next_ = on_terminal_ ? now : now + kPlainLine;
  if (now < *next_) return;
  next_ = now + (on_terminal_ ? kRedraw : kPlainLine);
  const std::string left = seconds ? fmt::format(", about {:.0f} s left", *seconds) : "";
  if (on_terminal_) {
    const auto full = static_cast<std::size_t>(share * kBarColumns);
    write_standard_error(fmt::format("\r\033[K{} [{}{}] {:.0f} %{}", what_, std::string(full, '#'),
                                     std::string(kBarColumns - full, '.'), 100 * share, left));
  } else {
    tell("{}: {:.0f} %{}\n", what_, 100 * share, left);
  }
  is_drawn_ = on_terminal_;
}

void ProgressBar::clear() {
  if (!is_drawn_) return;
  write_standard_error("\r\033[K");
  is_drawn_ = false;
}

}  // namespace tessera::tools
