// SPDX-License-Identifier: Apache-2.0
// A run: bind the caller's tensors, call the host program, hand back the outputs. No memory is
// allocated once the instance's own outputs exist.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "runtime/arguments.h"
#include "runtime/device_run.h"
#include "runtime/fork.h"
#include "runtime/instance.h"
#include "runtime/outputs.h"
#include "runtime/overlap.h"
#include "runtime/places.h"
#include "runtime/profile.h"

namespace tessera::runtime {

bool depends_on_data(const tessera_program_io& io, const std::int64_t* shape) {
  return std::any_of(shape, shape + io.ndim, [](std::int64_t n) { return n < 0; });
}

tessera_frame frame_of(tessera_instance& instance, const tessera_tensor* inputs,
                       const void* const* constants) {
  return {instance.inputs.data(),
          instance.outputs.data(),
          instance.pool_pointers.data(),
          constants,
          instance.model->constants.data(),
          instance.dims.data(),
          inputs,
          instance.output_tensors.data(),
          &instance.call,
          instance.extern_calls.data(),
          instance.profiling ? &instance.profile : nullptr,
          instance.model->program->context,
          &instance};
}

namespace {

// Checks device, dtype, layout, alignment and null pointers, and notes where the data are: in the
// input's place if none are given.
std::int32_t bind_inputs(tessera_instance& instance, const tessera_tensor* inputs) {
  const tessera_program& program = *instance.model->program;
  for (std::int32_t i = 0; i < program.input_count; ++i) {
    const tessera_program_io& io = program.inputs[i];
    void* const place = address_of(instance, place_of_input(program, i));
    tessera_tensor input = inputs[i];
    if (is_at(input, place)) {
      input.data = place;
      input.byte_offset = 0;
    } else if (std::int32_t status = check_host("input", io.name, input)) {
      return status;
    }
    if (std::int32_t status =
            bind_input("input", io, input, io_align_bytes(io), &instance.inputs[i])) {
      return status;
    }
  }
  return TESSERA_OK;
}

// The instance's own memory for output `i`.
std::int32_t own_output(tessera_instance& instance, std::int32_t i, const std::int64_t* shape) {
  const tessera_program_io& io = instance.model->program->outputs[i];
  Block& block = instance.own_outputs[i];
  std::uint64_t wanted = 0;
  if (place_of_output(*instance.model->program, i).bytes > 0) {
    wanted = compact_bytes(io.dtype, io.ndim, shape);  // its place has room for the largest
  } else if (std::int32_t status = own_output_bytes(io, shape, &wanted)) {
    return status;
  }
  if (block.bytes < wanted) {
    release_block(instance, &block);
    const std::uint64_t align = std::max<std::uint64_t>(64, io_align_bytes(io));
    if (std::int32_t status = allocate_block(instance, wanted, align, io.name, &block))
      return status;
  }
  instance.outputs[i] = block.data;
  return TESSERA_OK;
}

// Decides whose memory output `i` of this shape goes to.
std::int32_t bind_output(tessera_instance& instance, std::int32_t i, const std::int64_t* shape) {
  const tessera_tensor& given = instance.given_outputs[i];
  if (is_own_output(instance, i, given)) {
    if (std::int32_t status = own_output(instance, i, shape)) return status;
  } else if (std::int32_t status = check_room(instance.model->program->outputs[i], given, shape)) {
    return status;
  } else {
    instance.outputs[i] = static_cast<char*>(given.data) + given.byte_offset;
  }
  instance.output_tensors[i].data = instance.outputs[i];
  return TESSERA_OK;
}

// What can be said of the caller's tensors before the results' shapes are known.
std::int32_t check_given(const tessera_instance& instance, std::int32_t i) {
  const tessera_program_io& io = instance.model->program->outputs[i];
  const tessera_tensor& given = instance.given_outputs[i];
  if (is_own_output(instance, i, given)) return TESSERA_OK;
  if (std::int32_t status = check_host("output", io.name, given)) return status;
  return check_layout(io, given, io_align_bytes(io));
}

// All outputs but those whose shape the program finds as it runs.
std::int32_t bind_outputs(tessera_instance& instance, const tessera_tensor* inputs,
                          const tessera_tensor* outputs) {
  const tessera_program& program = *instance.model->program;
  std::int64_t* shape = instance.output_shapes.data();
  output_shapes(program, instance.dims.data(), shape);
  instance.given_outputs = outputs;
  for (std::int32_t i = 0; i < program.output_count; ++i) {
    if (std::int32_t status = check_given(instance, i)) return status;
  }
  if (std::int32_t status = check_overlaps(instance, inputs, outputs, shape)) return status;
  for (std::int32_t i = 0; i < program.output_count; ++i) {
    const tessera_program_io& io = program.outputs[i];
    instance.output_tensors[i] = {nullptr, instance.device, io.ndim, io.dtype, shape, nullptr, 0};
    instance.outputs[i] = nullptr;
    if (!depends_on_data(io, shape)) {
      if (std::int32_t status = bind_output(instance, i, shape)) return status;
    }
    shape += io.ndim;
  }
  return TESSERA_OK;
}

// Tells the caller what the outputs are.
void hand_back(const tessera_instance& instance, tessera_tensor* outputs) {
  for (std::int32_t i = 0; i < instance.model->program->output_count; ++i) {
    const tessera_tensor& result = instance.output_tensors[i];
    if (result.data == instance.own_outputs[i].data) {
      outputs[i] = result;
    } else {
      tell_shape(result, &outputs[i]);
    }
  }
}

std::int32_t call_program(tessera_instance& instance, const tessera_tensor* inputs) {
  const tessera_program& program = *instance.model->program;
  const tessera_frame frame = frame_of(instance, inputs, instance.model->constants.data());
  clear_run_error(instance);
  if (instance.profiling) start_run(instance.profile);
  if (instance.vendor_threads.run([&] { return program.entry(&frame); }) == 0) return TESSERA_OK;
  return run_failed(instance);
}

std::int32_t run(tessera_instance& instance, const tessera_tensor* inputs, std::int32_t input_count,
                 tessera_tensor* outputs, std::int32_t output_count) {
  const tessera_program& program = *instance.model->program;
  if (program.entry == nullptr) {
    return fail(TESSERA_INVALID_ARGUMENT, "this is a library of kernels; it has no program to run");
  }
  std::int32_t status = bind_shapes(program, inputs, input_count, instance.dims.data());
  if (status == TESSERA_OK) status = bind_inputs(instance, inputs);
  if (status == TESSERA_OK) status = check_outputs(program, outputs, output_count);
  if (status == TESSERA_OK) status = bind_outputs(instance, inputs, outputs);
  if (status == TESSERA_OK) status = call_program(instance, inputs);
  if (status == TESSERA_OK) hand_back(instance, outputs);
  return status;
}

// One run at a time, where the instance's threads are.
template <class F>
std::int32_t alone_with_threads(tessera_instance* instance, F&& work) {
  return alone(instance, [&] { return with_threads(instance->threads, work); });
}

}  // namespace
}  // namespace tessera::runtime

namespace tessera::runtime {
namespace {

// A quarter more must fit, too. False, with the error set, where it does not. The other sizes of
// what is empty must fit as well: loops count to them, and sizes are made of them.
bool count_bytes(tessera_instance& instance, std::int64_t element_bytes, const std::int64_t* shape,
                 std::int32_t rank, std::int64_t* bytes) {
  bool fits = true, is_empty = false;
  *bytes = element_bytes;
  for (std::int32_t d = 0; d < rank; ++d) {
    is_empty |= shape[d] == 0;
    fits &= !__builtin_mul_overflow(*bytes, shape[d] == 0 ? 1 : shape[d], bytes);
  }
  fits &= *bytes <= INT64_MAX / 2;
  if (is_empty) *bytes = 0;
  if (fits) return true;
  char text[kErrorBytes];
  int at = std::snprintf(text, sizeof text, "a tensor of unbounded size has ");
  for (std::int32_t d = 0; d < rank && at < static_cast<int>(sizeof text) / 2; ++d) {
    at += std::snprintf(text + at, sizeof text - static_cast<std::size_t>(at), "%s%" PRId64,
                        d == 0 ? "" : " x ", shape[d]);
  }
  std::snprintf(text + at, sizeof text - static_cast<std::size_t>(at),
                " elements, more bytes than 64 bits can count");
  set_run_error(instance, TESSERA_OUT_OF_MEMORY, text);
  return false;
}

}  // namespace
}  // namespace tessera::runtime

void* tessera_heap_reserve(const tessera_frame* frame, int32_t slot, int64_t element_bytes,
                           const int64_t* shape, int32_t rank) {
  using namespace tessera::runtime;
  auto& instance = *static_cast<tessera_instance*>(frame->instance);
  Block& block = instance.heap[slot];
  std::int64_t bytes = 0;
  if (!count_bytes(instance, element_bytes, shape, rank, &bytes)) return nullptr;
  const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1));
  if (block.bytes >= wanted) return block.data;
  std::int32_t status = TESSERA_OK;
  if (instance.work.api != nullptr) status = wait_before_release(instance);
  if (status == TESSERA_OK) {
    release_block(instance, &block);
    // A quarter more, so that sizes which grow by little do not allocate every time.
    status =
        allocate_block(instance, wanted + wanted / 4, 64, "a tensor of unbounded size", &block);
  }
  if (status == TESSERA_OK) return block.data;
  set_run_error(instance, status, tessera_last_error());
  return nullptr;
}

void* tessera_output_reserve(const tessera_frame* frame, int32_t i) {
  using namespace tessera::runtime;
  auto& instance = *static_cast<tessera_instance*>(frame->instance);
  const std::int32_t status = instance.work.api != nullptr
                                  ? reserve_device_output(instance, i)
                                  : bind_output(instance, i, frame->output_tensors[i].shape);
  if (status == TESSERA_OK) return instance.outputs[i];
  set_run_error(instance, status, tessera_last_error());
  return nullptr;
}

int32_t tessera_instance_run(tessera_instance* instance, const tessera_tensor* inputs,
                             int32_t input_count, tessera_tensor* outputs, int32_t output_count) {
  using namespace tessera::runtime;
  return alone_with_threads(instance, [&] {
    if (instance->work.api != nullptr) {
      return run_on_device(*instance, inputs, input_count, outputs, output_count);
    }
    return run(*instance, inputs, input_count, outputs, output_count);
  });
}

int32_t tessera_instance_run_on_stream(tessera_instance* instance, void* stream,
                                       const tessera_tensor* inputs, int32_t input_count,
                                       tessera_tensor* outputs, int32_t output_count) {
  using namespace tessera::runtime;
  return alone_with_threads(instance, [&] {
    if (instance->work.api != nullptr) {
      return run_on_stream(*instance, stream, inputs, input_count, outputs, output_count);
    }
    if (stream != nullptr) {
      return fail(TESSERA_INVALID_ARGUMENT, "a stream was given, but the instance is on the CPU");
    }
    return run(*instance, inputs, input_count, outputs, output_count);
  });
}

// On a CPU a run has ended when it returns, and has reported its own errors.
int32_t tessera_instance_synchronize(tessera_instance* instance) {
  using namespace tessera::runtime;
  return alone(instance, [&] {
    return instance->work.api != nullptr ? wait_for_device(*instance) : std::int32_t{TESSERA_OK};
  });
}

int32_t tessera_instance_device_ns(tessera_instance* instance, uint64_t* ns) {
  using namespace tessera::runtime;
  if (ns == nullptr) return fail(TESSERA_INVALID_ARGUMENT, "`ns` is a null pointer");
  *ns = 0;
  return alone(instance, [&] {
    return instance->work.api != nullptr ? device_time(*instance, ns) : std::int32_t{TESSERA_OK};
  });
}
