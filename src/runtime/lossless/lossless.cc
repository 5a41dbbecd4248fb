// SPDX-License-Identifier: Apache-2.0
// All blocks of a library's packed weights, by threads that live as long as that takes. Who is free
// takes the next block.
#include "runtime/lossless/lossless.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/array.h"
#include "runtime/lossless/block.h"

namespace tessera::lossless {
namespace {

// Makes the pages of a mapped file present. False: the file ends before them; touching them would
// end the process. Systems that do not know the request are believed to have them.
bool are_there(const unsigned char* begin, std::uint64_t size) {
#ifndef MADV_POPULATE_READ  // of Linux 5.14
  constexpr int MADV_POPULATE_READ = 22;
#endif
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(begin), first = at / page * page;
  return madvise(reinterpret_cast<void*>(first), at - first + size, MADV_POPULATE_READ) == 0 ||
         errno != EFAULT;
}

static_assert(kBlockElements * kMostPlanes == TESSERA_UNPACKED_BLOCK_BYTES);

// A block of one of the weights.
struct Job {
  std::int32_t weight;
  std::uint64_t block, at, bytes, checksum;  // `at`: in the section
};

class Unpacking {
 public:
  Unpacking(const tessera_program& program, const tessera_unpack_target& target)
      : program_(program),
        section_(static_cast<const unsigned char*>(program.weights)),
        target_(target) {}

  // A status, like the next.
  std::int32_t find_jobs() {
    for (std::int32_t i = 0; i < program_.packed_count; ++i) {
      if (std::int32_t status = add_jobs(i)) return status;
    }
    return TESSERA_OK;
  }

  std::int32_t run(std::int32_t threads) {
    const auto helpers = std::min<std::size_t>(std::max(threads, 1), jobs_.size()) - 1;
    runtime::Array<pthread_t> started;
    for (std::size_t i = 0; i < helpers; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, nullptr, help, this) != 0) break;  // fewer do it, too
      if (started.push(thread)) continue;
      pthread_join(thread, nullptr);
      break;
    }
    work();
    for (const pthread_t thread : started) pthread_join(thread, nullptr);
    return status_.load();
  }

  bool has_jobs() const { return jobs_.size() > 0; }

 private:
  static void* help(void* unpacking) {
    static_cast<Unpacking*>(unpacking)->work();
    return nullptr;
  }

  static std::uint64_t elements(const tessera_program_packed& w) {
    return w.bytes / w.element_bytes;
  }

  std::int32_t add_jobs(std::int32_t weight) {
    const tessera_program_packed& w = program_.packed[weight];
    const std::uint64_t blocks = num_blocks(elements(w)), header = blocks * sizeof(BlockRecord);
    const unsigned char* stored = section_ + w.packed_offset;
    if (w.packed_bytes < header || !are_there(stored, header)) return TESSERA_DAMAGED;
    std::uint64_t at = header;
    for (std::uint64_t b = 0; b < blocks; ++b) {
      BlockRecord record;
      std::memcpy(&record, stored + b * sizeof record, sizeof record);
      if (record.pad != 0 || record.bytes > w.packed_bytes - at) return TESSERA_DAMAGED;
      if (!jobs_.push({weight, b, w.packed_offset + at, record.bytes, record.checksum})) {
        return TESSERA_OUT_OF_MEMORY;
      }
      at += record.bytes;
    }
    return at == w.packed_bytes ? TESSERA_OK : TESSERA_DAMAGED;
  }

  void work() {
    auto* workspace = runtime::create<Workspace>();
    if (workspace == nullptr) {
      status_ = TESSERA_OUT_OF_MEMORY;
      return;
    }
    const std::int32_t thread = next_thread_.fetch_add(1);
    while (status_ == TESSERA_OK) {
      const std::size_t i = next_.fetch_add(1);
      if (i >= jobs_.size()) break;
      std::int32_t none = TESSERA_OK;  // the first failure counts
      if (std::int32_t status = unpack(jobs_[i], thread, *workspace)) {
        status_.compare_exchange_strong(none, status);
      }
    }
    runtime::destroy(workspace);
  }

  std::int32_t unpack(const Job& job, std::int32_t thread, Workspace& workspace) const {
    const tessera_program_packed& w = program_.packed[job.weight];
    const std::uint64_t first = job.block * kBlockElements;
    const std::uint64_t count = std::min(kBlockElements, elements(w) - first);
    const tessera_unpacked_block block = {thread, job.weight, w.offset + first * w.element_bytes,
                                          count * w.element_bytes};
    void* out = nullptr;
    if (std::int32_t status = target_.place(target_.context, &block, &out)) return status;
    if (out == nullptr) return TESSERA_OK;
    const unsigned char* stored = section_ + job.at;
    if (!are_there(stored, job.bytes)) return TESSERA_DAMAGED;
    if (checksum(stored, job.bytes, job.block) != job.checksum) return TESSERA_DAMAGED;
    if (!unpack_block(stored, job.bytes, count, w.element_bytes, out, workspace)) {
      return TESSERA_DAMAGED;
    }
    return target_.filled != nullptr ? target_.filled(target_.context, &block, out) : TESSERA_OK;
  }

  const tessera_program& program_;
  const unsigned char* section_;
  const tessera_unpack_target& target_;
  runtime::Array<Job> jobs_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::int32_t> next_thread_{0};
  std::atomic<std::int32_t> status_{TESSERA_OK};
};

}  // namespace
}  // namespace tessera::lossless

std::int32_t tessera_unpack_weights(const tessera_program* program,
                                    const tessera_unpack_target* target, std::int32_t threads) {
  tessera::lossless::Unpacking unpacking(*program, *target);
  if (std::int32_t status = unpacking.find_jobs()) return status;
  return unpacking.has_jobs() ? unpacking.run(threads) : TESSERA_OK;
}
