// SPDX-License-Identifier: Apache-2.0
// A TensorProto as a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "constants/tensor.h"
#include "diagnostics/diagnostic.h"
#include "onnx.pb.h"

namespace tessera::import {

// ONNX's number of a data type, or nothing for strings, complex and types that tessera does not
// have.
std::optional<DType> onnx_dtype(int data_type);
// "FLOAT8E4M3FN", for messages.
std::string onnx_dtype_name(int data_type);

// Integers and floats of two and four bits, of which a byte of the data has several: the type of
// the bytes that they become. No bits for any other type.
struct PackedType {
  DType dtype;
  int bits = 0;
};
PackedType packed_type(int data_type);
// A type that becomes bytes: one of those, or a float of eight bits.
bool is_narrow_type(int data_type);
// onnx_dtype, or that of the bytes.
std::optional<DType> stored_dtype(int data_type);

// Shape and type of a tensor, checked: sizes are not negative and their product fits.
struct TensorHeader {
  std::vector<std::int64_t> shape;
  DType dtype;
  std::uint64_t size_bytes = 0;  // of the data
  int packed_bits = 0;           // of an element where a byte has several
};
Result<TensorHeader> tensor_header(const onnx::TensorProto& t, const Location& at);

// The data that the message itself holds, in `raw_data` or in the typed field of its data type.
std::shared_ptr<const Blob> inline_data(const onnx::TensorProto& t, DType dtype);
// Header and data together; an error if they do not fit.
Result<Tensor> make_tensor(const onnx::TensorProto& t, TensorHeader header,
                           std::shared_ptr<const Blob> data, const Location& at);
// A tensor that lies completely in its message.
Result<Tensor> inline_tensor(const onnx::TensorProto& t, const Location& at);

}  // namespace tessera::import
