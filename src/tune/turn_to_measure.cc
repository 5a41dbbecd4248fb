// SPDX-License-Identifier: Apache-2.0
#include "tune/turn_to_measure.h"

#include <cctype>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "runtime/visible_devices.h"
#include "support/private_folder.h"

namespace tessera::tune {

std::string measuring_file() {
  std::string file = "measuring";
  const char* shown = runtime::visible_devices();
  if (shown == nullptr) return file;
  const std::string_view all = shown, first = all.substr(0, all.find(','));
  if (first.empty() || first == "0") return file;
  file += '-';
  for (const unsigned char c : first) file += std::isalnum(c) != 0 ? static_cast<char>(c) : '_';
  return file;
}

TurnToMeasure::TurnToMeasure(const std::string& folder) {
  if (folder.empty() || !use_private_folder(folder)) return;
  constexpr mode_t kOwn = 0600;
  file_ = ::open((folder + "/" + measuring_file()).c_str(),
                 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kOwn);
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
