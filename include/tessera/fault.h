// SPDX-License-Identifier: Apache-2.0
//
// Indices that kernels find to lie outside of what they index: what generated kernels call for it.
#ifndef TESSERA_FAULT_H_
#define TESSERA_FAULT_H_

#include <stdint.h>

#include "tessera/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// Sets the error from a format of printf and its values; returns a status that is not zero. As
// tessera_call_failed, but the run ends with TESSERA_INDEX_OUTSIDE.
int32_t tessera_index_outside(const tessera_call* call, const char* format, ...);

// The first such index that kernels on a device have found; in memory that host and device share.
// The kernels go on with the nearest index inside, and the run fails once the host has waited.
typedef struct tessera_fault {
  const char* sentence;  // a format of printf for four `long long`; null: none was found
  long long values[4];
  uint32_t taken;  // a thread is writing, or has written
} tessera_fault;
// The fault of the instance that runs.
tessera_fault* tessera_fault_of(const tessera_call* call);

#ifdef __cplusplus
}
#endif

#endif  // TESSERA_FAULT_H_
