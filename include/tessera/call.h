// SPDX-License-Identifier: Apache-2.0
//
// How a host program, kernels and the run-time parts of back ends call each other. Users of a model
// need model.h only; this header is installed because a back end's run-time part is written against
// it, and because generated sources include it.
//
// A kernel keeps nothing in globals: what it may use is in the `tessera_call` it is given.
#ifndef TESSERA_CALL_H_
#define TESSERA_CALL_H_

#include <stddef.h>
#include <stdint.h>

#include "tessera/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// What an artifact's state functions have created, one pointer a lifetime; null where it declares
// none.
typedef struct tessera_states {
  void* library;    // of a back end and (model, device): immutable, shared by all threads
  void* instance;   // of a back end and instance
  void* call_site;  // of a symbol and instance
} tessera_states;

// Passed to every kernel. Members are only ever added at the end; `struct_bytes` tells which are
// there.
typedef struct tessera_call {
  uint32_t struct_bytes;
  int32_t threads;  // how many threads this call may use, itself included
  tessera_device device;
  void* stream;     // of the device; null on a CPU
  void* workspace;  // 64-byte aligned; what the symbol declared, unchanged during the call, not
                    // kept after it
  uint64_t workspace_bytes;
  const tessera_states* states;  // null for kernels that declare no state
  // Records `text` (copied) as the reason of the non-zero status that the kernel is about to
  // return.
  void (*set_error)(const struct tessera_call* call, const char* text);
  void* runtime;  // the runtime's own
  void* workers;  // the runtime's own: who helps with parallel loops; null: nobody
} tessera_call;

// Convention "generated": loop nests, C-source kernels, shape functions (on host int64 buffers),
// launchers of device kernels. `buffers` are the data pointers in order of the parameters; `dims`
// are the values of the function's formal dimensions in order of first appearance in its signature.
// Zero means success.
typedef int32_t (*tessera_kernel_fn)(void* const* buffers, const int64_t* dims,
                                     const tessera_call* call);

// Convention "back end": inputs, then outputs, as tensors with shapes. Zero means success.
typedef int32_t (*tessera_backend_fn)(const tessera_call* call, tessera_tensor** tensors,
                                      int32_t tensor_count);

// The bytes of workspace that a symbol needs when its formal dimensions have these values. Called
// at create with the largest ones, and monotone in each.
typedef uint64_t (*tessera_workspace_fn)(const int64_t* dims, tessera_device device,
                                         int32_t threads);

// May a run that calls the symbol be recorded and replayed, as a CUDA graph is? Asked at create, on
// a device, when the states are there; zero: it must not.
typedef int32_t (*tessera_capturable_fn)(const tessera_states* states, tessera_device device);

// ---- Parallel loops ----

// A part of a parallel loop: iterations [begin, end). `worker` is in [0, call->threads), distinct
// for parts that run at the same time, so that scratch memory can be indexed by it. Non-zero: an
// error.
typedef int32_t (*tessera_range_fn)(void* closure, int64_t begin, int64_t end, int32_t worker);

// Runs fn over [0, n), split into contiguous parts of nearly equal length, which depend on n and
// the instance's threads alone; a thread that is free takes the next one. Returns when all are
// done, with the status of a part that failed, else zero. Inside of a part, a further parallel loop
// runs in that part's thread.
int32_t tessera_parallel_for(const tessera_call* call, int64_t n, tessera_range_fn fn,
                             void* closure);

// Sets the error from a format of printf and its values; returns a status that is not zero. What a
// kernel returns that finds its operands to be wrong.
int32_t tessera_call_failed(const tessera_call* call, const char* format, ...);

// ---- State ----

typedef struct tessera_named_tensor {
  const char* name;
  tessera_tensor tensor;
} tessera_named_tensor;

// What a back end left in the library for one symbol: its payload (a serialized graph, for
// instance) and the constants that the payload names. Both stay where they are for as long as the
// model lives; nothing needs to be copied.
typedef struct tessera_artifact_view {
  const char* symbol;
  const void* payload;
  uint64_t payload_bytes;
  const tessera_named_tensor* constants;
  int32_t constant_count;
} tessera_artifact_view;

// Argument of the functions that create state. For library and instance state, `artifacts` are all
// those of the back end in this model; for call-site state, the one of the symbol.
typedef struct tessera_state_args {
  uint32_t struct_bytes;
  int32_t threads;  // of the instance; for library state, of the instance that caused its creation
  tessera_device device;
  const char* backend;
  const tessera_artifact_view* artifacts;
  int32_t artifact_count;
  const tessera_states* states;  // the outer lifetimes' states, already created
  void (*set_error)(const struct tessera_state_args* args, const char* text);
  void* runtime;  // the runtime's own
  // For call-site state: records `text` (copied) as something that users had better know of the
  // symbol, such as a choice that was made when compiling and does not hold here. It stands in
  // the profile.
  void (*set_note)(const struct tessera_state_args* args, const char* text);
} tessera_state_args;

// Creates the state of one lifetime. Zero means success; otherwise *state is left null, and
// set_error has been called.
typedef int32_t (*tessera_state_create_fn)(const tessera_state_args* args, void** state);
typedef void (*tessera_state_destroy_fn)(void* state);

// A vendor library that the back end declared as needed. It is opened when the model is created;
// this returns the handle (as of dlopen), or null, having set the error, if `file` is not one of
// the declared ones.
void* tessera_vendor_library(const tessera_state_args* args, const char* file);

// A function of such a library, or null, having set the error: library, symbol, and that another
// version is needed.
void* tessera_vendor_symbol(const tessera_state_args* args, void* library, const char* symbol);

#ifdef __cplusplus
}
#endif

#endif  // TESSERA_CALL_H_
