// SPDX-License-Identifier: Apache-2.0
//
// The interface of a library that `tessera compile` produced. It is C, and all that a program needs
// besides the library.
//
//   tessera_model* model = NULL;
//   tessera_instance* instance = NULL;
//   if (tessera_model_create(NULL, &model) || tessera_instance_create(model, NULL, &instance)) {
//     fprintf(stderr, "%s\n", tessera_last_error());
//     return 1;
//   }
//   int64_t shape[] = {1, 128};
//   tessera_tensor in = {ids, {TESSERA_CPU, 0}, 2, {TESSERA_INT, 64, 1}, shape, NULL, 0};
//   tessera_tensor out = {0};  /* data == NULL: give me yours */
//   tessera_instance_run(instance, &in, 1, &out, 1);
//
// A model is immutable and may be used by all threads. An instance has its own memory and serves
// one thread at a time; threads that want to run at the same time create one each. Functions return
// a status, zero on success; the sentence that belongs to a failure is tessera_last_error() of the
// same thread. The library reads no file but itself and the vendor libraries that it names, and
// needs no compiler, cache, home directory or network.
//
// Structures that grow begin with `struct_bytes`, which the caller sets to sizeof of the structure
// it was compiled with: an older caller works with a newer library.
#ifndef TESSERA_MODEL_H_
#define TESSERA_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#include "tessera/tensor.h"

#if defined(__GNUC__)
#define TESSERA_API __attribute__((visibility("default")))
#else
#define TESSERA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Version of this interface. A library serves callers of its own version only.
#define TESSERA_ABI_VERSION 2u

typedef struct tessera_model tessera_model;
typedef struct tessera_instance tessera_instance;

enum {
  TESSERA_OK = 0,
  TESSERA_INVALID_ARGUMENT =
      1,                  // null pointer; wrong number, name, dtype, shape, alignment, device
  TESSERA_WRONG_ABI = 2,  // caller and library, or the library's parts, are of different versions
  TESSERA_WRONG_MACHINE = 3,    // compiled for a CPU or device that is not here
  TESSERA_LIBRARY_MISSING = 4,  // a vendor library was not found, or is of the wrong version
  TESSERA_OUT_OF_MEMORY = 5,
  TESSERA_KERNEL_FAILED = 6,  // a kernel, or the creation of a back end's state, reported an error
  TESSERA_BUSY = 7,           // the instance is running in another thread
  TESSERA_INDEX_OUTSIDE = 8,  // an index, given or computed, lies outside of what it indexes
  TESSERA_DAMAGED = 9         // what is packed in the library's file is not what was written
};

// The sentence of the calling thread's last failure; "" before the first. Valid until the thread's
// next call.
TESSERA_API const char* tessera_last_error(void);

// ---- The library ----

TESSERA_API uint32_t tessera_abi_version(void);
TESSERA_API const char* tessera_build_id(void);  // equal for equal input, options and compiler
// What it was compiled for, as `compile --target` takes it; of several processors the one whose
// code this machine takes.
TESSERA_API const char* tessera_target(void);

// JSON: inputs, outputs, placement, memory plan, vendor libraries. The same text stands, ending in
// a zero byte, at the exported symbol `tessera_metadata`: tools read it there without loading the
// library.
TESSERA_API const char* tessera_metadata_json(void);

// ---- The model ----

typedef struct tessera_model_options {
  uint32_t struct_bytes;
  uint32_t abi_version;  // TESSERA_ABI_VERSION of the caller's headers
} tessera_model_options;

#define TESSERA_MODEL_OPTIONS_INIT \
  { (uint32_t)sizeof(tessera_model_options), TESSERA_ABI_VERSION }

// Checks ABI and CPU, unpacks weights that are packed, unless another model of the process has
// them, and opens the vendor libraries. `options` may be null.
TESSERA_API int32_t tessera_model_create(const tessera_model_options* options,
                                         tessera_model** model);

// Null is allowed. Instances keep what they need of the model, so the order of destruction does not
// matter.
TESSERA_API void tessera_model_destroy(tessera_model* model);

// An input or output. Arrays have ndim numbers and live as long as the library.
typedef struct tessera_io {
  uint32_t struct_bytes;
  int32_t ndim;
  const char* name;
  const int64_t* shape;  // -1: not known before the run; see min_shape and max_shape
  const int64_t* min_shape;
  const int64_t* max_shape;  // -1: no bound
  tessera_dtype dtype;
  uint32_t align_bytes;  // what the data pointer must be aligned to
  uint64_t max_bytes;    // for max_shape; 0: no bound
  // For an output: the share_count inputs (indices) in whose memory a run may be asked to write it,
  // from the same address on. Memory that tensors of a run share in any other way is an error.
  const int32_t* shares;
  int32_t share_count;
  int32_t pad;
  // Its place in the instance's memory (`compile --pool-io`): a tensor whose data is null lies
  // there, byte pool_offset of this pool (index). A run may write over inputs there. -1: it has
  // none.
  int32_t pool;
  int32_t pad_pool;
  uint64_t pool_offset;
} tessera_io;

#define TESSERA_IO_INIT \
  { (uint32_t)sizeof(tessera_io), 0, NULL, NULL, NULL, NULL, {0, 0, 0}, 0, 0, NULL, 0, 0, -1, 0, 0 }

TESSERA_API int32_t tessera_model_input_count(const tessera_model* model);
TESSERA_API int32_t tessera_model_output_count(const tessera_model* model);
TESSERA_API int32_t tessera_model_input(const tessera_model* model, int32_t index, tessera_io* io);
TESSERA_API int32_t tessera_model_output(const tessera_model* model, int32_t index, tessera_io* io);
TESSERA_API int32_t tessera_model_find_input(const tessera_model* model, const char* name,
                                             int32_t* index);
TESSERA_API int32_t tessera_model_find_output(const tessera_model* model, const char* name,
                                              int32_t* index);

// Weights that were kept (`compile --keep-weights`), which tessera_instance_set_weight sets. They
// are none of the inputs that a run takes.
TESSERA_API int32_t tessera_model_weight_count(const tessera_model* model);
TESSERA_API int32_t tessera_model_weight(const tessera_model* model, int32_t index, tessera_io* io);

// The shapes that a run with inputs of these shapes (dtype and data are not looked at) gives its
// outputs: fills outputs[i].ndim and, for outputs[i].shape that is not null, its numbers; an
// output's rank is known from tessera_io. A dimension that depends on data is -1.
TESSERA_API int32_t tessera_model_output_shapes(const tessera_model* model,
                                                const tessera_tensor* inputs, int32_t input_count,
                                                tessera_tensor* outputs, int32_t output_count);

// A piece of memory that each instance needs: its arena, in one or more memory spaces.
typedef struct tessera_pool {
  uint32_t struct_bytes;
  uint32_t align_bytes;
  const char* name;
  tessera_device device;
  uint64_t bytes;
} tessera_pool;

#define TESSERA_POOL_INIT \
  { (uint32_t)sizeof(tessera_pool), 0, NULL, {0, 0}, 0 }

TESSERA_API int32_t tessera_model_pool_count(const tessera_model* model);
TESSERA_API int32_t tessera_model_pool(const tessera_model* model, int32_t index,
                                       tessera_pool* pool);

// ---- Instances ----

// Where an instance's memory comes from. `allocate` returns null when there is none, else memory
// that is aligned as asked; it may be
// called by create, by the first run that leaves an output to the instance, and by runs of larger
// sizes than any before where a dimension has no bound.
typedef struct tessera_allocator {
  void* context;
  void* (*allocate)(void* context, uint64_t bytes, uint64_t align_bytes, tessera_device device);
  void (*release)(void* context, void* memory, uint64_t bytes, tessera_device device);
} tessera_allocator;

#define TESSERA_MAX_THREADS 1024

// Threads of the program, in place of the instance's own, for the loops that this library runs.
// `run` calls task(data, i) for each i in [0, count), in any order and at the same time or one
// after the other, and returns when all are done. Tasks do not wait for each other.
typedef struct tessera_thread_pool {
  void* context;
  void (*run)(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data);
} tessera_thread_pool;

// Memory that the caller gives for a pool, and what is true of it.
typedef struct tessera_pool_memory {
  void* data;  // null: the instance allocates it
  uint64_t bytes;
  tessera_device device;  // whose memory it is
} tessera_pool_memory;

typedef struct tessera_instance_options {
  uint32_t struct_bytes;
  int32_t threads;        // 0: as many as the process may use CPUs; at most TESSERA_MAX_THREADS
  tessera_device device;  // {0, 0}: the first of the kind that the model was compiled for
  const tessera_allocator* allocator;  // null: malloc. Copied
  void* const* pools;  // null, or one a pool: the caller's memory, or null to have it allocated
  int32_t pool_count;
  int32_t profile;      // not 0: as by tessera_instance_profile
  int32_t no_replay;    // not 0: runs on a device are never recorded and replayed
  int32_t thread_nice;  // added to the nice value of the instance's own threads; those of vendor
                        // libraries keep theirs. Negative ones need the privilege
  const tessera_thread_pool* thread_pool;  // null: threads of the instance. Copied
  const int32_t* thread_cpus;  // null, or the CPUs that the instance's own threads may use. Copied
  int32_t thread_cpu_count;
  int32_t repeats;  // for who measures: each run on a device computes so many times in a row, all
                    // of them in its recording. 0: once
  // Null, or in place of `pools` one a pool, pool_count in all: refused where it is too small, of
  // another device or not aligned (tessera_model_pool tells what each needs). Copied.
  const tessera_pool_memory* pool_memory;
  int32_t weight_copies;  // for who measures a part of a model: so many computations in a row, on a
                          // device, each read weights of their own. 0 or 1: all read the same
  int32_t same_inputs;    // for who measures: not 0: host inputs that lie where those of the run
                          // before lay have their values, and are not sent to a device again
} tessera_instance_options;

#define TESSERA_INSTANCE_OPTIONS_INIT                                                             \
  {                                                                                               \
    (uint32_t)sizeof(tessera_instance_options), 0, {0, 0}, NULL, NULL, 0, 0, 0, 0, NULL, NULL, 0, \
        0, NULL, 0, 0                                                                             \
  }

// `options` may be null.
TESSERA_API int32_t tessera_instance_create(tessera_model* model,
                                            const tessera_instance_options* options,
                                            tessera_instance** instance);
// Null is allowed. To be called once, when no other thread uses the instance.
TESSERA_API void tessera_instance_destroy(tessera_instance* instance);

// Gives a kept weight the values of `value`, which are copied: later runs of this instance use
// them, and the tensor may go. Name, dtype and shape must be the model's, the data compact, on the
// instance's device or in host memory. Null: back to what the model was compiled with. Waits for
// runs that are under way.
TESSERA_API int32_t tessera_instance_set_weight(tessera_instance* instance, const char* name,
                                                const tessera_tensor* value);

// Runs the model. All inputs are given, in the order of the model, compact, and on the instance's
// device or in host memory; one with a place in a pool may have no data, and is read there (the
// rest of its tensor is given). An output whose data is null becomes the instance's own: data,
// shape and the rest are filled in, and stay valid until the instance's next run or its
// destruction. An output with data is the caller's: dtype and rank must be the model's, its shape
// says what room there is, and it must be compact, aligned and large enough, or the run is refused;
// its shape is then set to the result's, its data never. On a device other than the CPU, results
// that are the instance's own are in host memory, unless the output's `device` asks for the
// device's.
TESSERA_API int32_t tessera_instance_run(tessera_instance* instance, const tessera_tensor* inputs,
                                         int32_t input_count, tessera_tensor* outputs,
                                         int32_t output_count);

// The same on a stream of the instance's device (null: its default stream), without waiting for the
// result; on a CPU `stream` must be null. All tensors are in the device's memory, and inputs stay
// as they are until the work is done; those that only say sizes may be in the host's (docs/abi.md).
// Runs of one instance are ordered, also on different streams. While the stream is being captured,
// nothing is waited for, allocated or captured: outputs are the caller's, or were the instance's.
TESSERA_API int32_t tessera_instance_run_on_stream(tessera_instance* instance, void* stream,
                                                   const tessera_tensor* inputs,
                                                   int32_t input_count, tessera_tensor* outputs,
                                                   int32_t output_count);

// Waits for what run_on_stream began, and reports its errors.
TESSERA_API int32_t tessera_instance_synchronize(tessera_instance* instance);

// How long the device worked on the latest run, from its first kernel to its last, without copies
// from and to the host. Waits for it. 0 on a CPU.
TESSERA_API int32_t tessera_instance_device_ns(tessera_instance* instance, uint64_t* ns);

// What an instance has at present, in bytes. It grows with the first run, and with runs of larger
// sizes than any before where a dimension has no bound.
typedef struct tessera_memory {
  uint32_t struct_bytes;
  int32_t pad;
  uint64_t constant_bytes;  // on the device, once for all instances there; on a CPU those that were
                            // packed, once a process: others are read in the library
  uint64_t pool_bytes;      // the pools, also those that the caller gave
  uint64_t other_bytes;     // inputs from the host, own outputs, workspaces, weights that were set
  uint64_t pinned_bytes;    // of the host, for copies from and to a device
} tessera_memory;

#define TESSERA_MEMORY_INIT \
  { (uint32_t)sizeof(tessera_memory), 0, 0, 0, 0, 0 }

TESSERA_API int32_t tessera_instance_memory(tessera_instance* instance, tessera_memory* memory);

// ---- Profile ----

// One call of a kernel in the model's program. Times in nanoseconds; start counts from the begin of
// the run.
typedef struct tessera_profile_entry {
  uint32_t struct_bytes;
  int32_t pad;
  const char* kernel;
  const char* backend;
  uint64_t calls;
  uint64_t total_ns;
  uint64_t min_ns;
  uint64_t last_start_ns;
  uint64_t last_ns;
  const char* note;  // what the back end has to say of the kernel; null: nothing
} tessera_profile_entry;

#define TESSERA_PROFILE_ENTRY_INIT \
  { (uint32_t)sizeof(tessera_profile_entry), 0, NULL, NULL, 0, 0, 0, 0, 0, NULL }

// Switches measuring of each kernel on (and its figures to zero) or off. It is off unless asked
// for, and then costs nothing.
TESSERA_API int32_t tessera_instance_profile(tessera_instance* instance, int32_t on);
TESSERA_API int32_t tessera_instance_profile_count(const tessera_instance* instance);
TESSERA_API int32_t tessera_instance_profile_entry(const tessera_instance* instance, int32_t index,
                                                   tessera_profile_entry* entry);

// What an instance's device can do at most, by which figures of kernels are judged. All are 0 on a
// CPU.
typedef struct tessera_rates {
  uint32_t struct_bytes;
  int32_t pad;
  double bytes_per_second;          // read and written, by copies in the device's memory
  double float32_flops_per_second;  // of multiply-adds, each of which is two
  double float16_flops_per_second;  // of matrix units, with sums in float32
} tessera_rates;

#define TESSERA_RATES_INIT \
  { (uint32_t)sizeof(tessera_rates), 0, 0, 0, 0 }

// Measures them, for some tens of milliseconds and with memory of its own.
TESSERA_API int32_t tessera_instance_rates(tessera_instance* instance, tessera_rates* rates);

#ifdef __cplusplus
}
#endif

#endif  // TESSERA_MODEL_H_
