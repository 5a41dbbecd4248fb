// SPDX-License-Identifier: Apache-2.0
// With a device that copies as late as it may: what is filled too early would show.
#include "runtime/device_upload.h"

#include <numeric>

#include "runtime/device_fixture.h"

namespace tessera::runtime {
namespace {

class DeviceUploadTest : public DeviceTest {
 protected:
  DeviceUploadTest() {
    device.is_late = true;
    device.free_bytes = 64 << 20;
  }

  // Values of these sizes, one after the other, arrive as they are.
  void expect_uploaded(const std::vector<std::size_t>& sizes) {
    const std::size_t total = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    std::vector<std::uint32_t> from(total / 4 + 1), to(total / 4 + 1);
    std::iota(from.begin(), from.end(), 1u);
    {
      DeviceUpload upload(kApi, total);
      std::size_t at = 0;
      for (const std::size_t size : sizes) {
        ASSERT_EQ(upload.copy(bytes_of(to) + at, bytes_of(from) + at, size), TESSERA_OK);
        at += size;
      }
      ASSERT_EQ(upload.finish(), TESSERA_OK);
    }
    EXPECT_EQ(std::memcmp(bytes_of(to), bytes_of(from), total), 0);
    EXPECT_TRUE(device.places.empty());
    for (const FakeCopy& copy : device.asked) {
      EXPECT_TRUE(copy.from < from.data() || copy.from >= from.data() + from.size());
    }
  }
  static char* bytes_of(std::vector<std::uint32_t>& values) {
    return reinterpret_cast<char*>(values.data());
  }
};

TEST_F(DeviceUploadTest, OneLargerThanAllPinnedMemory) { expect_uploaded({(30 << 20) + 12345}); }

TEST_F(DeviceUploadTest, ManyOfAllSizes) {
  expect_uploaded({1, 7, 64, 100, (4 << 20) - 192, 65, (9 << 20) + 3, 24, 0, 8 << 20, 1});
}

TEST_F(DeviceUploadTest, AFewBytesPinAsFew) {
  device.free_bytes = 256;
  expect_uploaded({24, 150});
  EXPECT_EQ(device.waits, 1);
}

TEST_F(DeviceUploadTest, WithoutPinnedMemoryThereIsNoInstance) {
  const std::vector<char> large(2000);  // more than other memory
  program.weights = large.data();
  constant.bytes = large.size();
  device.free_bytes = large.size();  // pinned memory is in steps of 64 bytes
  EXPECT_EQ(try_create(), TESSERA_OUT_OF_MEMORY);
  EXPECT_STREQ(tessera_last_error(),
               "memory to upload the model's constants from: out of device memory");
}

// What is on its way is waited for before its memory goes.
TEST_F(DeviceUploadTest, ACopyThatFailsEndsIt) {
  std::vector<char> from(20 << 20, 1), to(20 << 20);
  for (const std::size_t good : {0, 1, 3}) {
    device.asked.clear();
    device.done = 0;
    device.first_failing = good;
    {
      DeviceUpload upload(kApi, from.size());
      EXPECT_EQ(upload.copy(to.data(), from.data(), from.size()), TESSERA_KERNEL_FAILED);
      EXPECT_STREQ(tessera_last_error(), "memory cannot be copied");
    }
    EXPECT_EQ(device.asked.size(), good);
    EXPECT_EQ(device.done, good);
  }
}

}  // namespace
}  // namespace tessera::runtime
