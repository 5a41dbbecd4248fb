/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 that says of itself what it is told (its version in FAKE_DRIVER_VERSION) and has
 * no GPU, or says that it has an H200 (FAKE_DRIVER_GPU is set), which computes nothing: what the
 * CUDA runtime asks of a driver before it asks for devices, and what a tuner asks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CUDA_ERROR_NO_DEVICE = 100, MULTIPROCESSORS = 16, MAJOR = 75 };

int cuDriverGetVersion(int* version) {
  const char* told = getenv("FAKE_DRIVER_VERSION");
  *version = told != NULL ? atoi(told) : 0;
  return 0;
}

int cuInit(unsigned flags) {
  (void)flags;
  return getenv("FAKE_DRIVER_GPU") != NULL ? 0 : CUDA_ERROR_NO_DEVICE;
}

int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

int cuDeviceGetName(char* name, int bytes, int device) {
  (void)device;
  strncpy(name, "NVIDIA H200", (size_t)bytes);
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == MULTIPROCESSORS ? 132 : attribute == MAJOR ? 9 : 0;
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
