/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 that says of itself what it is told (its version in FAKE_DRIVER_VERSION) and has
 * no GPU: what the CUDA runtime asks of a driver before it asks for devices. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CUDA_ERROR_NO_DEVICE = 100 };

int cuDriverGetVersion(int* version) {
  const char* told = getenv("FAKE_DRIVER_VERSION");
  *version = told != NULL ? atoi(told) : 0;
  return 0;
}

static int no_device(void) { return CUDA_ERROR_NO_DEVICE; }

int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags,
                        int* found) {
  (void)version;
  (void)flags;
  if (found != NULL) *found = 0;
  *function = strcmp(name, "cuDriverGetVersion") == 0      ? (void*)cuDriverGetVersion
              : strncmp(name, "cuGetProcAddress", 16) == 0 ? (void*)cuGetProcAddress_v2
                                                           : (void*)no_device;
  return 0;
}
