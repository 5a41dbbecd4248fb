// SPDX-License-Identifier: Apache-2.0
#include "support/installation.h"

#include <cstdlib>
#include <filesystem>

namespace tessera {

std::string installation_root() {
  const char* set = std::getenv("TESSERA_ROOT");
  if (set != nullptr && *set != '\0') return set;
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return self.parent_path().parent_path().string();
}

}  // namespace tessera
