// SPDX-License-Identifier: Apache-2.0
#include "support/peak_memory.h"

#include <algorithm>
#include <charconv>

#include <sys/resource.h>

#include "support/files.h"

namespace tessera {

std::uint64_t own_peak_bytes() {
  const auto status = read_file("/proc/self/status");
  constexpr std::string_view kField = "VmHWM:";
  const std::size_t at = status ? status->find(kField) : std::string::npos;
  if (at == std::string::npos) return 0;
  const std::size_t begin = status->find_first_not_of(" \t", at + kField.size());
  std::uint64_t kilobytes = 0;
  std::from_chars(status->data() + begin, status->data() + status->size(), kilobytes);
  return kilobytes * 1024;
}

std::uint64_t tree_peak_bytes() {
  // A child begins as this process, which therefore is in its figure; the maximum is right.
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  return std::max(own_peak_bytes(), static_cast<std::uint64_t>(children.ru_maxrss) * 1024);
}

}  // namespace tessera
