// SPDX-License-Identifier: Apache-2.0
// For functions that kernels and tests on the host call.
#pragma once

#ifdef __CUDACC__
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif
