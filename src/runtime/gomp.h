// SPDX-License-Identifier: Apache-2.0
// The few entry points of libgomp that the runtime uses. They are declared here rather than reached
// by pragmas, so that the archive needs libgomp whichever compiler builds it: vendor libraries use
// libgomp's threads, and two OpenMP run times in a process would fight over the CPUs.
#pragma once

extern "C" {
void GOMP_parallel(void (*fn)(void*), void* data, unsigned num_threads, unsigned flags);
int omp_get_max_threads(void);
void omp_set_num_threads(int num_threads);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
}
