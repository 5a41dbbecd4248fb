// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpus.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

namespace tessera::runtime {
namespace {

namespace fs = std::filesystem;

class QuotaTest : public ::testing::Test {
 protected:
  QuotaTest() {
    std::string pattern = fs::temp_directory_path() / "tessera-quota-test-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~QuotaTest() override { fs::remove_all(folder_); }

  void put(const std::string& path, const std::string& text) {
    const std::string file = folder_ + path;
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file) << text;
  }
  std::int32_t quota() { return cpus_of_quota(folder_.c_str()); }

  std::string folder_;
};

TEST_F(QuotaTest, ThereIsNone) {
  EXPECT_EQ(quota(), 0);
  put("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(quota(), 0);
  put("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  put("/proc/self/cgroup", "4:cpu,cpuacct:/\n3:cpuset:/\nnonsense\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0);
}

TEST_F(QuotaTest, IsRoundedUp) {
  put("/proc/self/cgroup", "0::/\n");
  put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2);
  put("/sys/fs/cgroup/cpu.max", "210000 100000\n");
  EXPECT_EQ(quota(), 3);
  put("/sys/fs/cgroup/cpu.max", "1000 100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(QuotaTest, IsTheSmallestOfTheGroupsAround) {
  put("/proc/self/cgroup", "0::/pods/mine\n");
  put("/sys/fs/cgroup/cpu.max", "900000 100000\n");
  put("/sys/fs/cgroup/pods/cpu.max", "200000 100000\n");
  put("/sys/fs/cgroup/pods/mine/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 2);
}

// A container may see the path that its host has for it.
TEST_F(QuotaTest, OfAGroupThatIsMountedElsewhere) {
  put("/proc/self/cgroup", "0::/docker/0123\n");
  put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3);
}

TEST_F(QuotaTest, OfTheFirstVersion) {
  put("/proc/self/cgroup", "9:memory:/\n4:cpu,cpuacct:/docker/0123\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 2);
}

// In a thread of its own, so that the others keep their CPUs.
TEST(Affinity, IsThatOfTheThread) {
  const std::int32_t all = cpus_of_affinity();
  std::int32_t of_one = 0, of_all = 0;
  std::thread([&] {
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    of_all = CPU_COUNT(&before);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    of_one = cpus_of_affinity();
  }).join();
  EXPECT_EQ(of_one, 1);
  EXPECT_EQ(all, of_all);
}

}  // namespace
}  // namespace tessera::runtime
