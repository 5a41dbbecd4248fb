// SPDX-License-Identifier: Apache-2.0
// From records to an order of what a back end may take.
#pragma once

#include <vector>

#include "byoc/workload.h"
#include "tune/record_store.h"

namespace tessera::tune {

// The records come the fastest first, failures last, of any toolchain. Where two toolchains say
// different things of a configuration at the same sizes, wrong numbers count before a time, and a
// time before any other failure. What failed at one size is out for work whose size is open: it
// will be called at all of them.
byoc::Ranking rank(const std::vector<Record>& records, const byoc::Workload& workload);

}  // namespace tessera::tune
