// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpus.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace tessera::runtime {
namespace {

constexpr std::size_t kFileBytes = 4096;

// The beginning of a small file, as a text; false if it cannot be read.
bool read_text(const char* path, char (&text)[kFileBytes]) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t bytes = read(file, text, kFileBytes - 1);
  close(file);
  text[std::max<ssize_t>(bytes, 0)] = '\0';
  return bytes > 0;
}

std::int32_t rounded_up(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<std::int32_t>(std::min<long long>((quota + period - 1) / period, INT_MAX));
}

// 0 is no quota.
std::int32_t smaller(std::int32_t a, std::int32_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// "max 100000", or "150000 100000".
std::int32_t quota_of_v2(const char* folder) {
  char path[PATH_MAX], text[kFileBytes];
  std::snprintf(path, sizeof path, "%s/cpu.max", folder);
  long long quota = 0, period = 0;
  if (!read_text(path, text) || std::sscanf(text, "%lld %lld", &quota, &period) != 2) return 0;
  return rounded_up(quota, period);
}

std::int32_t quota_of_v1(const char* folder) {
  char path[PATH_MAX], text[kFileBytes];
  std::snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (!read_text(path, text)) return 0;
  const long long quota = std::strtoll(text, nullptr, 10);  // -1: none
  std::snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  if (!read_text(path, text)) return 0;
  return rounded_up(quota, std::strtoll(text, nullptr, 10));
}

// The least of the group and of all around it, up to the mount. In a container the group's path may
// be the host's, which is not there; the mount then is the container's own group.
template <class Quota>
std::int32_t smallest_up(const char* mount, const char* group, Quota&& quota) {
  char folder[PATH_MAX];
  std::snprintf(folder, sizeof folder, "%s%s", mount, group);
  const std::size_t shortest = std::strlen(mount);
  std::int32_t least = 0;
  while (true) {
    least = smaller(least, quota(folder));
    char* slash = std::strrchr(folder, '/');
    if (slash == nullptr || slash < folder + shortest) break;
    *slash = '\0';
  }
  return least;
}

// Does the list "cpu,cpuacct" name the controller of CPUs?
bool names_cpu(const char* begin, const char* end) {
  for (const char* at = begin; at < end;) {
    const char* comma = std::find(at, end, ',');
    if (comma - at == 3 && std::strncmp(at, "cpu", 3) == 0) return true;
    at = comma + 1;
  }
  return false;
}

}  // namespace

std::int32_t cpus_of_affinity() {
  for (std::size_t cpus = 1024; cpus <= std::size_t{1} << 20; cpus *= 4) {
    cpu_set_t* mask = CPU_ALLOC(cpus);
    if (mask == nullptr) return 1;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool fits = sched_getaffinity(0, bytes, mask) == 0;
    const int count = fits ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (fits) return std::max(count, 1);
  }
  return 1;
}

// Lines of /proc/self/cgroup: "0::/group" of version 2, "4:cpu,cpuacct:/group" of version 1.
std::int32_t cpus_of_quota(const char* root) {
  char path[PATH_MAX], mount[PATH_MAX], text[kFileBytes];
  std::snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (!read_text(path, text)) return 0;
  std::int32_t least = 0;
  char* rest = nullptr;
  for (char* line = strtok_r(text, "\n", &rest); line; line = strtok_r(nullptr, "\n", &rest)) {
    char* controllers = std::strchr(line, ':');
    char* group = controllers != nullptr ? std::strchr(controllers + 1, ':') : nullptr;
    if (group == nullptr) continue;
    ++controllers;
    if (controllers == group) {
      std::snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
      least = smaller(least, smallest_up(mount, group + 1, quota_of_v2));
    } else if (names_cpu(controllers, group)) {
      std::snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
      least = smaller(least, smallest_up(mount, group + 1, quota_of_v1));
    }
  }
  return least;
}

}  // namespace tessera::runtime
