// SPDX-License-Identifier: Apache-2.0
#include "tune/turn_to_measure.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "runtime/visible_devices.h"
#include "support/hash.h"
#include "support/private_folder.h"

namespace tessera::tune {

std::string gpu_turns() {
  const char* shown = runtime::visible_devices();
  if (shown == nullptr) return kCpuTurns;
  const std::string_view all = shown, first = all.substr(0, all.find(','));
  if (first.empty() || first == "0") return kCpuTurns;
  const bool is_index =
      std::all_of(first.begin(), first.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  // A name is as long as the user likes.
  return fmt::format("{}-{}", kCpuTurns,
                     is_index && first.size() < 8 ? std::string(first) : hash_text(first).hex());
}

TurnToMeasure::TurnToMeasure(const std::string& turns, const std::string& folder) {
  if (folder.empty() || !use_private_folder(folder)) return;
  constexpr mode_t kOwn = 0600;
  const std::string file = fmt::format("{}/{}", folder, turns);
  file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kOwn);
  if (file_ < 0) return;
  while (::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

// A child that was forked meanwhile has the file, too: closing it alone would not give it back.
TurnToMeasure::~TurnToMeasure() {
  if (file_ < 0) return;
  ::flock(file_, LOCK_UN);
  ::close(file_);
}

}  // namespace tessera::tune
