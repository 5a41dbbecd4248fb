// SPDX-License-Identifier: Apache-2.0
// How many threads vendor libraries take. Those with OpenMP have a setting of the calling thread;
// those with oneTBB take as many as the arena that they are called in has places.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/tbb.h"

namespace tessera::runtime {

class VendorThreads {
 public:
  VendorThreads() = default;
  explicit VendorThreads(std::int32_t threads) : threads_(threads) {}  // 0: as many as they like
  VendorThreads(const VendorThreads&) = delete;
  VendorThreads& operator=(const VendorThreads&) = delete;

  void set(std::int32_t threads) { threads_ = threads; }  // before the first run

  // What work() gives, called where vendor libraries take so many threads.
  template <class F>
  auto run(F&& work) -> decltype(work()) {
    const OpenMpThreads setting(threads_);
    std::optional<decltype(work())> result;
    arena_.run(threads_, [&] { result.emplace(work()); });
    return *std::move(result);
  }

 private:
  // Sets the calling thread's number of OpenMP threads, and restores it. Nothing is to be set as
  // long as nobody has opened libgomp.
  class OpenMpThreads {
   public:
    explicit OpenMpThreads(std::int32_t threads);
    OpenMpThreads(const OpenMpThreads&) = delete;
    OpenMpThreads& operator=(const OpenMpThreads&) = delete;
    ~OpenMpThreads();

   private:
    std::int32_t before_ = 0;  // 0: it was not changed
  };

  std::int32_t threads_ = 1;
  TbbArena arena_;
};

}  // namespace tessera::runtime
