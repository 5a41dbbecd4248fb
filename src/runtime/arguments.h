// SPDX-License-Identifier: Apache-2.0
// What a run is given, checked against what the model says: every mistake has its own sentence.
#pragma once

#include <cstdint>

#include "runtime/error.h"
#include "runtime/program.h"

namespace tessera::runtime {

// `(1, ?, 128)`.
struct ShapeText : TextBuffer {
  ShapeText(std::int32_t ndim, const std::int64_t* shape);
};

// Checks the inputs' shapes and binds the program's symbols: dims[i] for each symbol. A status.
std::int32_t bind_shapes(const tessera_program& program, const tessera_tensor* inputs,
                         std::int32_t input_count, std::int64_t* dims);

// Checks dtype, layout, alignment and null pointers of a tensor, not its device, and sets *data.
// `align_bytes`: of its data. `what` it is called.
std::int32_t bind_input(const char* what, const tessera_program_io& io, const tessera_tensor& input,
                        std::uint64_t align_bytes, void** data);

// Checks rank and sizes against those of `io` that are numbers.
std::int32_t check_shape(const char* what, const tessera_program_io& io,
                         const tessera_tensor& tensor);

// That the tensor is in memory of the host.
std::int32_t check_host(const char* what, const char* name, const tessera_tensor& tensor);

// The row of that name; an error that lists the names there are.
std::int32_t find_io(const tessera_program_io* table, std::int32_t count, const char* what,
                     const char* name, std::int32_t* index);

// Checks what the caller says about outputs: number, and dtype, rank and sizes of those with data.
std::int32_t check_outputs(const tessera_program& program, const tessera_tensor* outputs,
                           std::int32_t output_count);

// Writes all outputs' dimensions, one output after the other; -1 where they depend on data.
void output_shapes(const tessera_program& program, const std::int64_t* dims, std::int64_t* shapes);

std::int32_t total_output_rank(const tessera_program& program);
std::uint64_t element_bytes(tessera_dtype dtype);

// Alignment that a tensor of this input or output needs.
std::uint64_t io_align_bytes(const tessera_program_io& io);

// Bytes of a compact tensor; UINT64_MAX if a dimension is negative (unknown), or if the product of
// those that are not zero overflows.
std::uint64_t compact_bytes(tessera_dtype dtype, std::int32_t ndim, const std::int64_t* shape);

bool is_compact(const tessera_tensor& tensor);

}  // namespace tessera::runtime
