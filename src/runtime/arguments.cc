// SPDX-License-Identifier: Apache-2.0
#include "runtime/arguments.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace tessera::runtime {
namespace {

// `float32`, `bool`, for sentences.
struct DtypeName {
  explicit DtypeName(tessera_dtype dtype) {
    static constexpr const char* kNames[] = {"int",    "uint",    "float", "handle",
                                             "bfloat", "complex", "bool"};
    const char* name = dtype.code < 7 ? kNames[dtype.code] : "unknown";
    if (dtype.code == TESSERA_BOOL) {
      std::snprintf(text, sizeof text, "bool");
    } else {
      std::snprintf(text, sizeof text, "%s%d", name, dtype.bits);
    }
    if (dtype.lanes != 1) {
      const std::size_t length = std::strlen(text);
      std::snprintf(text + length, sizeof text - length, "x%d", dtype.lanes);
    }
  }
  char text[32];
};

bool same(tessera_dtype a, tessera_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

std::int32_t fail_count(const char* what, std::int32_t given, std::int32_t expected) {
  return fail(TESSERA_INVALID_ARGUMENT, "%d %s%s given, the model has %d", given, what,
              given == 1 ? "" : "s", expected);
}

std::int32_t fail_dtype(const char* what, const char* name, tessera_dtype given,
                        tessera_dtype expected) {
  return fail(TESSERA_INVALID_ARGUMENT, "%s `%s` has dtype %s, the model takes %s", what, name,
              DtypeName(given).text, DtypeName(expected).text);
}

std::int32_t fail_rank(const char* what, const tessera_program_io& io, std::int32_t given) {
  return fail(TESSERA_INVALID_ARGUMENT, "%s `%s` has %d dimension%s, the model takes %d: %s", what,
              io.name, given, given == 1 ? "" : "s", io.ndim, ShapeText(io.ndim, io.shape).text());
}

// Dimension `d` of `io` is not a number: checks its range, and that equal symbols have equal
// values.
std::int32_t bind_dimension(const tessera_program& program, const tessera_program_io& io,
                            std::int32_t d, std::int64_t value, std::int64_t* dims) {
  std::int64_t min = io.min_shape[d], max = io.max_shape[d], step = 1;
  const std::int32_t symbol = io.symbols == nullptr ? -1 : io.symbols[d];
  const char* name = "?";
  if (symbol >= 0) {
    const tessera_program_symbol& s = program.symbols[symbol];
    min = std::max(min, s.min);
    if (s.max >= 0) max = max < 0 ? s.max : std::min(max, s.max);
    step = std::max<std::int64_t>(1, s.step);
    name = s.name;
    if (dims[symbol] >= 0 && dims[symbol] != value) {
      return fail(TESSERA_INVALID_ARGUMENT,
                  "dimension %d of input `%s` is %" PRId64 ", but `%s` is %" PRId64
                  " in an earlier one",
                  d, io.name, value, name, dims[symbol]);
    }
    dims[symbol] = value;
  }
  if (value >= min && (max < 0 || value <= max) && (value - min) % step == 0) return TESSERA_OK;
  TextBuffer range;
  range.add("%" PRId64 "..", min);
  if (max >= 0) range.add("%" PRId64, max);
  if (step > 1) range.add(" in steps of %" PRId64, step);
  // A cache before its first token, mostly.
  if (value == 0 && symbol >= 0) range.add("; `compile --dim \"%s=0..\"` takes empty ones", name);
  return fail(TESSERA_INVALID_ARGUMENT,
              "dimension %d of input `%s` is %" PRId64 ", the model was compiled for `%s` in %s", d,
              io.name, value, name, range.text());
}

std::int32_t bind_shape(const tessera_program& program, const tessera_program_io& io,
                        const tessera_tensor& input, std::int64_t* dims) {
  if (std::int32_t status = check_shape("input", io, input)) return status;
  for (std::int32_t d = 0; d < io.ndim; ++d) {
    if (io.shape[d] >= 0) continue;
    if (std::int32_t status = bind_dimension(program, io, d, input.shape[d], dims)) return status;
  }
  return TESSERA_OK;
}

// Dimensions that are expressions of symbols, now that all symbols have values.
std::int32_t check_expressions(const tessera_program& program, std::int32_t i,
                               const tessera_tensor& input, const std::int64_t* dims) {
  const tessera_program_io& io = program.inputs[i];
  for (std::int32_t d = 0; d < io.ndim; ++d) {
    if (io.shape[d] >= 0 || (io.symbols != nullptr && io.symbols[d] >= 0)) continue;
    const std::int64_t wanted = program.input_size(program.context, dims, i, d);
    if (wanted == input.shape[d]) continue;
    return fail(TESSERA_INVALID_ARGUMENT,
                "dimension %d of input `%s` is %" PRId64 ", and must be %" PRId64
                " by the sizes of the others",
                d, io.name, input.shape[d], wanted);
  }
  return TESSERA_OK;
}

}  // namespace

ShapeText::ShapeText(std::int32_t ndim, const std::int64_t* shape) {
  add("(");
  for (std::int32_t i = 0; i < ndim; ++i) {
    if (i > 0) add(", ");
    if (shape[i] < 0) {
      add("?");
    } else {
      add("%" PRId64, shape[i]);
    }
  }
  add(")");
}

std::int32_t check_shape(const char* what, const tessera_program_io& io,
                         const tessera_tensor& tensor) {
  if (tensor.ndim != io.ndim) return fail_rank(what, io, tensor.ndim);
  if (tensor.shape == nullptr && io.ndim > 0) {
    return fail(TESSERA_INVALID_ARGUMENT, "the shape of %s `%s` is a null pointer", what, io.name);
  }
  for (std::int32_t d = 0; d < io.ndim; ++d) {
    if (io.shape[d] < 0 || tensor.shape[d] == io.shape[d]) continue;
    return fail(TESSERA_INVALID_ARGUMENT, "%s `%s` has shape %s, the model takes %s", what, io.name,
                ShapeText(tensor.ndim, tensor.shape).text(), ShapeText(io.ndim, io.shape).text());
  }
  return TESSERA_OK;
}

std::int32_t bind_shapes(const tessera_program& program, const tessera_tensor* inputs,
                         std::int32_t input_count, std::int64_t* dims) {
  if (input_count != program.input_count) {
    return fail_count("input", input_count, program.input_count);
  }
  if (inputs == nullptr && input_count > 0) {
    return fail(TESSERA_INVALID_ARGUMENT, "`inputs` is a null pointer");
  }
  std::fill_n(dims, program.symbol_count, -1);
  for (std::int32_t i = 0; i < input_count; ++i) {
    if (std::int32_t status = bind_shape(program, program.inputs[i], inputs[i], dims))
      return status;
  }
  for (std::int32_t i = 0; program.input_size != nullptr && i < input_count; ++i) {
    if (std::int32_t status = check_expressions(program, i, inputs[i], dims)) return status;
  }
  return TESSERA_OK;
}

std::int32_t bind_input(const char* what, const tessera_program_io& io, const tessera_tensor& input,
                        std::uint64_t align_bytes, void** data) {
  if (!same(input.dtype, io.dtype)) return fail_dtype(what, io.name, input.dtype, io.dtype);
  if (!is_compact(input)) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "%s `%s` is strided, the model takes compact row-major tensors: copy it first",
                what, io.name);
  }
  *data = static_cast<char*>(input.data) + input.byte_offset;
  const std::uint64_t bytes = compact_bytes(io.dtype, input.ndim, input.shape);
  if (bytes == 0) return TESSERA_OK;
  if (bytes == UINT64_MAX) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "%s `%s` of shape %s has more bytes than 64 bits can count", what, io.name,
                ShapeText(input.ndim, input.shape).text());
  }
  if (input.data == nullptr) {
    return fail(TESSERA_INVALID_ARGUMENT, "the data of %s `%s` is a null pointer", what, io.name);
  }
  if (reinterpret_cast<std::uintptr_t>(*data) % align_bytes != 0) {
    return fail(TESSERA_INVALID_ARGUMENT,
                "the data of %s `%s` is not aligned: %p is not a multiple of %" PRIu64 " bytes",
                what, io.name, *data, align_bytes);
  }
  return TESSERA_OK;
}

std::int32_t check_host(const char* what, const char* name, const tessera_tensor& t) {
  if (t.device.device_type == TESSERA_CPU || t.device.device_type == TESSERA_CUDA_HOST) {
    return TESSERA_OK;
  }
  return fail(TESSERA_INVALID_ARGUMENT, "%s `%s` is on %s, the instance on the CPU", what, name,
              name_of(t.device).text);
}

std::int32_t check_outputs(const tessera_program& program, const tessera_tensor* outputs,
                           std::int32_t output_count) {
  if (output_count != program.output_count) {
    return fail_count("output", output_count, program.output_count);
  }
  if (outputs == nullptr && output_count > 0) {
    return fail(TESSERA_INVALID_ARGUMENT, "`outputs` is a null pointer");
  }
  for (std::int32_t i = 0; i < output_count; ++i) {
    const tessera_tensor& output = outputs[i];
    const tessera_program_io& io = program.outputs[i];
    if (output.data == nullptr) continue;
    if (!same(output.dtype, io.dtype)) return fail_dtype("output", io.name, output.dtype, io.dtype);
    if (output.ndim != io.ndim) return fail_rank("output", io, output.ndim);
    if (output.shape == nullptr && io.ndim > 0) {
      return fail(TESSERA_INVALID_ARGUMENT, "the shape of output `%s` is a null pointer", io.name);
    }
    if (std::any_of(output.shape, output.shape + io.ndim, [](std::int64_t n) { return n < 0; })) {
      return fail(TESSERA_INVALID_ARGUMENT, "output `%s` has a negative size in its shape",
                  io.name);
    }
  }
  return TESSERA_OK;
}

void output_shapes(const tessera_program& program, const std::int64_t* dims, std::int64_t* shapes) {
  if (program.output_shapes != nullptr) return program.output_shapes(program.context, dims, shapes);
  for (std::int32_t i = 0; i < program.output_count; ++i) {
    const tessera_program_io& io = program.outputs[i];
    shapes = std::copy_n(io.shape, io.ndim, shapes);
  }
}

std::int32_t total_output_rank(const tessera_program& program) {
  std::int32_t rank = 0;
  for (std::int32_t i = 0; i < program.output_count; ++i) rank += program.outputs[i].ndim;
  return rank;
}

std::uint64_t element_bytes(tessera_dtype dtype) {
  return (static_cast<std::uint64_t>(dtype.bits) * dtype.lanes + 7) / 8;
}

std::uint64_t io_align_bytes(const tessera_program_io& io) {
  if (io.align_bytes != 0) return io.align_bytes;
  return std::max<std::uint64_t>(1, element_bytes(io.dtype));
}

std::uint64_t compact_bytes(tessera_dtype dtype, std::int32_t ndim, const std::int64_t* shape) {
  std::uint64_t bytes = element_bytes(dtype);
  bool is_empty = false;
  for (std::int32_t d = 0; d < ndim; ++d) {
    is_empty |= shape[d] == 0;
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(shape[d], 1));
    if (shape[d] < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return UINT64_MAX;
  }
  return is_empty ? 0 : bytes;
}

bool is_compact(const tessera_tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  bool overflows = false;
  for (std::int32_t d = tensor.ndim; d-- > 0;) {
    if (tensor.shape[d] == 0) return true;
    if (tensor.shape[d] != 1 && (overflows || tensor.strides[d] != expected)) return false;
    overflows |= __builtin_mul_overflow(expected, tensor.shape[d], &expected);
  }
  return true;
}

}  // namespace tessera::runtime
