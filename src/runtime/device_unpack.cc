// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_unpack.h"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "runtime/array.h"
#include "runtime/device_scope.h"
#include "runtime/device_upload.h"
#include "runtime/error.h"
#include "runtime/threads.h"
#include "runtime/unpacked_weights.h"

namespace tessera::runtime {
namespace {

// Together they fill a bus. Each has two pieces of pinned memory for a block.
constexpr std::int32_t kMostThreads = 32;

class PackedUpload {
 public:
  PackedUpload(const tessera_program& program, tessera_device device, void* memory)
      : api_(*program.device_api), device_(device), memory_(static_cast<char*>(memory)) {}
  ~PackedUpload() {
    for (const OfThread& thread : threads_) destroy(thread.upload);
  }
  PackedUpload(const PackedUpload&) = delete;
  PackedUpload& operator=(const PackedUpload&) = delete;

  std::int32_t run(const tessera_program& program) {
    const std::int32_t threads = std::clamp(default_threads(), std::int32_t{1}, kMostThreads);
    if (!threads_.allocate(static_cast<std::size_t>(threads))) {
      return fail_out_of_memory("uploads of packed weights");
    }
    const tessera_unpack_target target = {this, place, filled};
    const std::int32_t status = program.unpack(&program, &target, threads);
    if (failed_) return fail(status, "%s", failure_);
    return status == TESSERA_OK ? finish() : fail_unpacking(status);
  }

 private:
  static std::int32_t place(void* upload, const tessera_unpacked_block* block, void** out) {
    auto& self = *static_cast<PackedUpload*>(upload);
    return self.told(self.place_for(*block, out));
  }
  static std::int32_t filled(void* upload, const tessera_unpacked_block* block, const void*) {
    auto& self = *static_cast<PackedUpload*>(upload);
    return self.told(self.send(*block));
  }

  std::int32_t place_for(const tessera_unpacked_block& block, void** out) {
    const DeviceScope scope(&api_, device_);
    DeviceUpload*& upload = threads_[static_cast<std::size_t>(block.thread)].upload;
    if (upload == nullptr) {
      upload = create<DeviceUpload>(api_, std::uint64_t{TESSERA_UNPACKED_BLOCK_BYTES});
    }
    if (upload == nullptr) return fail_out_of_memory("an upload of packed weights");
    return upload->reserve(block.bytes, out);
  }

  std::int32_t send(const tessera_unpacked_block& block) {
    const DeviceScope scope(&api_, device_);
    return threads_[static_cast<std::size_t>(block.thread)].upload->send(memory_ + block.offset,
                                                                         block.bytes);
  }

  // A thread's sentence goes with it: the first is kept.
  std::int32_t told(std::int32_t status) {
    if (status != TESSERA_OK && !failed_.exchange(true)) {
      std::snprintf(failure_, sizeof failure_, "%s", tessera_last_error());
    }
    return status;
  }

  std::int32_t finish() {
    for (const OfThread& thread : threads_) {
      if (thread.upload == nullptr) continue;
      if (std::int32_t status = thread.upload->finish()) return status;
    }
    return TESSERA_OK;
  }

  struct OfThread {
    DeviceUpload* upload;  // null: it has had no block
  };

  const tessera_device_api& api_;
  const tessera_device device_;
  char* const memory_;
  Array<OfThread> threads_;
  std::atomic<bool> failed_{false};
  char failure_[kErrorBytes] = "";
};

}  // namespace

std::int32_t upload_packed(const tessera_program& program, tessera_device device, void* memory) {
  if (program.packed_count == 0) return TESSERA_OK;
  PackedUpload upload(program, device, memory);
  return upload.run(program);
}

}  // namespace tessera::runtime
