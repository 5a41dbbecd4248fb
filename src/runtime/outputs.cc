// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/arguments.h"

namespace tessera::runtime {
namespace {

std::int32_t fail_uncountable(const tessera_program_io& io, const std::int64_t* shape) {
  return fail(TESSERA_INVALID_ARGUMENT,
              "output `%s` of shape %s has more bytes than 64 bits can count", io.name,
              ShapeText(io.ndim, shape).text());
}

}  // namespace

bool is_own_output(const tessera_instance& instance, std::int32_t i, const tessera_tensor& output) {
  if (output.data == nullptr) return true;
  const Array<Block>& on_device = instance.work.outputs;  // none on the CPU
  return output.data == instance.own_outputs[i].data ||
         (on_device.size() > 0 && output.data == on_device[i].data);
}

std::int32_t check_layout(const tessera_program_io& io, const tessera_tensor& output,
                          std::uint64_t align_bytes) {
  if (!is_compact(output)) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "output `%s` is strided, the model writes compact row-major tensors", io.name);
  }
  const void* data = static_cast<const char*>(output.data) + output.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(data) % align_bytes == 0) return TESSERA_OK;
  return fail(TESSERA_INVALID_ARGUMENT,
              "the data of output `%s` are not aligned: %p is not a multiple of %" PRIu64 " bytes",
              io.name, data, align_bytes);
}

std::int32_t check_room(const tessera_program_io& io, const tessera_tensor& output,
                        const std::int64_t* shape) {
  const std::uint64_t needed = compact_bytes(io.dtype, io.ndim, shape);
  if (needed == UINT64_MAX) return fail_uncountable(io, shape);
  const std::uint64_t room = compact_bytes(io.dtype, io.ndim, output.shape);
  if (room == UINT64_MAX) return fail_uncountable(io, output.shape);
  if (room >= needed) return TESSERA_OK;
  return fail(TESSERA_INVALID_ARGUMENT,
              "output `%s` needs %" PRIu64 " bytes for a result of shape %s, and was given %" PRIu64
              " of shape %s: give a larger tensor, or none (data == NULL) for the instance's own",
              io.name, needed, ShapeText(io.ndim, shape).text(), room,
              ShapeText(io.ndim, output.shape).text());
}

std::uint64_t bound_bytes(const tessera_program_io& io, const std::int64_t* shape) {
  const std::uint64_t bytes = compact_bytes(io.dtype, io.ndim, shape);
  if (io.max_shape == nullptr) return bytes;
  const std::uint64_t bound = compact_bytes(io.dtype, io.ndim, io.max_shape);
  return bound == UINT64_MAX ? bytes : std::max(bytes, bound);
}

std::int32_t own_output_bytes(const tessera_program_io& io, const std::int64_t* shape,
                              std::uint64_t* bytes) {
  *bytes = bound_bytes(io, shape);
  if (*bytes == UINT64_MAX) return fail_uncountable(io, shape);
  // An empty result, too, has an address: a null pointer would read as not given.
  *bytes = std::max<std::uint64_t>(*bytes, 1);
  return TESSERA_OK;
}

void tell_shape(const tessera_tensor& result, tessera_tensor* output) {
  if (std::equal(result.shape, result.shape + result.ndim, output->shape)) return;
  std::copy_n(result.shape, result.ndim, output->shape);
  if (output->strides == nullptr) return;
  std::int64_t stride = 1;
  for (std::int32_t d = result.ndim; d-- > 0;) {
    output->strides[d] = stride;
    stride *= std::max<std::int64_t>(result.shape[d], 1);
  }
}

}  // namespace tessera::runtime
