// SPDX-License-Identifier: Apache-2.0
#include "tune/turn_to_measure.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace tessera::tune {

TurnToMeasure::TurnToMeasure(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code seen_when_opened;
  std::filesystem::create_directories(folder, seen_when_opened);
  constexpr mode_t kOwn = 0600;
  file_ = ::open((folder + "/measuring").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kOwn);
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
