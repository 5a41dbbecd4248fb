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

// A block of one of the weights.
struct Job {
  const tessera_program_packed* weight;
  std::uint64_t block, at, bytes, checksum;  // `at`: in the section
};

class Unpacking {
 public:
  Unpacking(const tessera_program& program, void* out)
      : program_(program),
        section_(static_cast<const unsigned char*>(program.weights)),
        out_(static_cast<unsigned char*>(out)) {}

  // A status, like the next.
  std::int32_t find_jobs() {
    for (std::int32_t i = 0; i < program_.packed_count; ++i) {
      if (std::int32_t status = add_jobs(program_.packed[i])) return status;
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

  std::int32_t add_jobs(const tessera_program_packed& w) {
    const std::uint64_t blocks = num_blocks(elements(w)), header = blocks * sizeof(BlockRecord);
    const unsigned char* stored = section_ + w.packed_offset;
    if (w.packed_bytes < header || !are_there(stored, header)) return TESSERA_DAMAGED;
    std::uint64_t at = header;
    for (std::uint64_t b = 0; b < blocks; ++b) {
      BlockRecord record;
      std::memcpy(&record, stored + b * sizeof record, sizeof record);
      if (record.pad != 0 || record.bytes > w.packed_bytes - at) return TESSERA_DAMAGED;
      if (!jobs_.push({&w, b, w.packed_offset + at, record.bytes, record.checksum})) {
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
    while (status_ == TESSERA_OK) {
      const std::size_t i = next_.fetch_add(1);
      if (i >= jobs_.size()) break;
      if (!unpack(jobs_[i], *workspace)) status_ = TESSERA_DAMAGED;
    }
    runtime::destroy(workspace);
  }

  bool unpack(const Job& job, Workspace& workspace) const {
    const tessera_program_packed& w = *job.weight;
    const unsigned char* stored = section_ + job.at;
    if (!are_there(stored, job.bytes)) return false;
    if (checksum(stored, job.bytes, job.block) != job.checksum) return false;
    const std::uint64_t first = job.block * kBlockElements;
    unsigned char* out = out_ + (w.offset - program_.mapped_bytes) + first * w.element_bytes;
    return unpack_block(stored, job.bytes, std::min(kBlockElements, elements(w) - first),
                        w.element_bytes, out, workspace);
  }

  const tessera_program& program_;
  const unsigned char* section_;
  unsigned char* out_;
  runtime::Array<Job> jobs_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::int32_t> status_{TESSERA_OK};
};

}  // namespace
}  // namespace tessera::lossless

std::int32_t tessera_unpack_weights(const tessera_program* program, void* out,
                                    std::int32_t threads) {
  tessera::lossless::Unpacking unpacking(*program, out);
  if (std::int32_t status = unpacking.find_jobs()) return status;
  return unpacking.has_jobs() ? unpacking.run(threads) : TESSERA_OK;
}
