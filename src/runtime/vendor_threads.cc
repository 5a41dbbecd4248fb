// SPDX-License-Identifier: Apache-2.0
#include "runtime/vendor_threads.h"

#include "runtime/gomp.h"

namespace tessera::runtime {

VendorThreads::OpenMpThreads::OpenMpThreads(std::int32_t threads) {
  const Gomp* gomp = opened_gomp();
  if (gomp == nullptr || threads <= 0) return;
  const std::int32_t before = gomp->max_threads();
  if (before == threads) return;
  gomp->set_num_threads(threads);
  before_ = before;
}

VendorThreads::OpenMpThreads::~OpenMpThreads() {
  if (before_ > 0) opened_gomp()->set_num_threads(before_);
}

}  // namespace tessera::runtime
