// SPDX-License-Identifier: Apache-2.0
//
// What the runtime needs of a device other than the CPU: a table of functions that an archive for
// the kind of device defines (runtime/cuda), so that the runtime itself names no vendor. A program
// for such a device points at the table.
//
// Functions that can fail return a status of model.h, having written the sentence to *error.
#ifndef TESSERA_RUNTIME_DEVICE_H_
#define TESSERA_RUNTIME_DEVICE_H_

#include <stdint.h>

#include "runtime/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tessera_device_error {
  char text[512];
} tessera_device_error;

struct tessera_device_api {
  // Checks that there are a driver and a device of that number, and that code for `arch`
  // (tessera_program::device_arch) runs on it.
  int32_t (*open)(int32_t id, const char* arch, tessera_device_error* error);
  // Makes `id` the calling thread's device and tells which one was; `leave` takes that back.
  int32_t (*enter)(int32_t id, int32_t* previous, tessera_device_error* error);
  void (*leave)(int32_t previous);

  // Memory of the device, and of the host where the device can read it without help. *memory is
  // aligned to 256 bytes.
  int32_t (*allocate)(uint64_t bytes, void** memory, tessera_device_error* error);
  void (*release)(void* memory);
  int32_t (*allocate_host)(uint64_t bytes, void** memory, tessera_device_error* error);
  void (*release_host)(void* memory);
  // Where a pointer leads: TESSERA_CPU for memory that the device does not know.
  tessera_device (*place_of)(const void* memory);

  // Work in order. Copies are between any two kinds of memory.
  int32_t (*create_stream)(void** stream, tessera_device_error* error);
  void (*destroy_stream)(void* stream);
  int32_t (*copy)(void* to, const void* from, uint64_t bytes, void* stream,
                  tessera_device_error* error);
  int32_t (*synchronize)(void* stream, tessera_device_error* error);

  // Marks in streams.
  int32_t (*create_event)(void** event, tessera_device_error* error);
  void (*destroy_event)(void* event);
  int32_t (*record_event)(void* event, void* stream, tessera_device_error* error);
  int32_t (*wait_event)(void* event, void* stream, tessera_device_error* error);
  int32_t (*synchronize_event)(void* event, tessera_device_error* error);
  // Between two that are done.
  int32_t (*elapsed_ns)(void* begin, void* end, uint64_t* ns, tessera_device_error* error);

  // Recorded work. Between begin and end nothing that is put into the stream happens.
  int32_t (*is_capturing)(void* stream);
  int32_t (*begin_capture)(void* stream, tessera_device_error* error);
  int32_t (*end_capture)(void* stream, void** graph, tessera_device_error* error);  // null: failed
  int32_t (*launch_graph)(void* graph, void* stream, tessera_device_error* error);
  void (*destroy_graph)(void* graph);

  // Products of numbers in registers, whose rate is what the device can do at most. `multiply` puts
  // some into the stream, of float16 or float32; *flops: how many operations these are.
  int32_t (*create_products)(void** products, tessera_device_error* error);
  void (*destroy_products)(void* products);
  int32_t (*multiply)(void* products, int32_t of_float16, void* stream, uint64_t* flops,
                      tessera_device_error* error);
};

#ifdef __cplusplus
}
#endif

#endif  // TESSERA_RUNTIME_DEVICE_H_
