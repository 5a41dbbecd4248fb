// SPDX-License-Identifier: Apache-2.0
#include "import/onnx_tensor.h"

#include <cstring>

#include "ops/inference/infer.h"

namespace tessera::import {
namespace {

// Each value of a typed field as one element: its low bytes, which is how ONNX stores the narrow
// types in int32_data.
template <class Field>
std::shared_ptr<const Blob> pack(const Field& values, DType dtype) {
  const auto size = static_cast<std::size_t>(dtype.size_bytes());
  std::vector<std::byte> bytes(static_cast<std::size_t>(values.size()) * size);
  std::size_t at = 0;
  for (const auto value : values) {
    std::memcpy(bytes.data() + at, &value, size);
    at += size;
  }
  return Blob::adopt(std::move(bytes));
}

std::shared_ptr<const Blob> typed_data(const onnx::TensorProto& t, DType dtype) {
  if (dtype == kFloat32) return pack(t.float_data(), dtype);
  if (dtype == kFloat64) return pack(t.double_data(), dtype);
  if (dtype == kInt64) return pack(t.int64_data(), dtype);
  if (dtype == kUInt64 || dtype == kUInt32) return pack(t.uint64_data(), dtype);
  return pack(t.int32_data(), dtype);
}

bool is_float_of_eight_bits(int data_type) {
  return data_type == onnx::TensorProto::FLOAT8E4M3FN ||
         data_type == onnx::TensorProto::FLOAT8E4M3FNUZ ||
         data_type == onnx::TensorProto::FLOAT8E5M2 ||
         data_type == onnx::TensorProto::FLOAT8E5M2FNUZ;
}

// The elements of a byte lie in it from its low bits on.
std::shared_ptr<const Blob> unpack(const Blob& packed, std::int64_t count, const TensorHeader& h) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  const int each = 8 / h.packed_bits, sign = 1 << (h.packed_bits - 1);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<int>(packed.bytes()[i / static_cast<std::size_t>(each)]);
    const int shift = static_cast<int>(i % static_cast<std::size_t>(each)) * h.packed_bits;
    const int value = (byte >> shift) & (2 * sign - 1);
    const bool is_negative = h.dtype.is_signed_int() && value >= sign;
    bytes[i] = static_cast<std::byte>(is_negative ? value - 2 * sign : value);
  }
  return Blob::adopt(std::move(bytes));
}

}  // namespace

std::optional<DType> onnx_dtype(int data_type) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT:
      return kFloat32;
    case onnx::TensorProto::DOUBLE:
      return kFloat64;
    case onnx::TensorProto::FLOAT16:
      return kFloat16;
    case onnx::TensorProto::BFLOAT16:
      return kBFloat16;
    case onnx::TensorProto::INT8:
      return kInt8;
    case onnx::TensorProto::INT16:
      return kInt16;
    case onnx::TensorProto::INT32:
      return kInt32;
    case onnx::TensorProto::INT64:
      return kInt64;
    case onnx::TensorProto::UINT8:
      return kUInt8;
    case onnx::TensorProto::UINT16:
      return kUInt16;
    case onnx::TensorProto::UINT32:
      return kUInt32;
    case onnx::TensorProto::UINT64:
      return kUInt64;
    case onnx::TensorProto::BOOL:
      return kBool;
    default:
      return std::nullopt;
  }
}

PackedType packed_type(int data_type) {
  switch (data_type) {
    case onnx::TensorProto::INT4:
      return {kInt8, 4};
    case onnx::TensorProto::UINT4:
    case onnx::TensorProto::FLOAT4E2M1:
      return {kUInt8, 4};
    case onnx::TensorProto::INT2:
      return {kInt8, 2};
    case onnx::TensorProto::UINT2:
      return {kUInt8, 2};
    default:
      return {};
  }
}

bool is_narrow_type(int data_type) {
  return packed_type(data_type).bits > 0 || is_float_of_eight_bits(data_type);
}

std::optional<DType> stored_dtype(int data_type) {
  if (!is_narrow_type(data_type)) return onnx_dtype(data_type);
  return is_float_of_eight_bits(data_type) ? kUInt8 : packed_type(data_type).dtype;
}

std::string onnx_dtype_name(int data_type) {
  if (!onnx::TensorProto::DataType_IsValid(data_type)) return fmt::format("{}", data_type);
  return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(data_type));
}

Result<TensorHeader> tensor_header(const onnx::TensorProto& t, const Location& at) {
  const auto dtype = stored_dtype(t.data_type());
  if (!dtype) {
    return fail(error(Code::kUnsupportedOnnxNode, at,
                      "tensor `{}` has the data type {}, which is not supported", t.name(),
                      onnx_dtype_name(t.data_type()))
                    .with_remedy("export the model with a floating-point or integer type of 2 to "
                                 "64 bits"));
  }
  if (t.dims_size() > kMostDimensions) {
    return fail(error(Code::kBadDimension, at, "tensor `{}` has {} dimensions; {} are the most",
                      t.name(), t.dims_size(), kMostDimensions)
                    .with_remedy("check the tensor's dims; the model file is probably damaged"));
  }
  TensorHeader header{
      {t.dims().begin(), t.dims().end()}, *dtype, 0, packed_type(t.data_type()).bits};
  std::int64_t bytes = dtype->size_bytes();
  for (const std::int64_t n : header.shape) {
    if (n < 0) {
      return fail(
          error(Code::kBadDimension, at, "tensor `{}` has the negative size {}", t.name(), n)
              .with_remedy("write the model again; sizes must be zero or more"));
    }
    if (__builtin_mul_overflow(bytes, n, &bytes)) {
      return fail(
          error(Code::kBadDimension, at, "the size of tensor `{}` overflows 64 bits", t.name())
              .with_remedy("check the tensor's dims; the model file is probably damaged"));
    }
  }
  header.size_bytes = static_cast<std::uint64_t>(bytes);
  if (header.packed_bits > 0) {
    const auto each = static_cast<std::uint64_t>(8 / header.packed_bits);
    header.size_bytes = header.size_bytes / each + (header.size_bytes % each == 0 ? 0 : 1);
  }
  return header;
}

std::shared_ptr<const Blob> inline_data(const onnx::TensorProto& t, DType dtype) {
  if (!t.has_raw_data()) return typed_data(t, dtype);
  return Blob::copy_of(std::as_bytes(std::span(t.raw_data().data(), t.raw_data().size())));
}

Result<Tensor> make_tensor(const onnx::TensorProto& t, TensorHeader header,
                           std::shared_ptr<const Blob> data, const Location& at) {
  if (data->size_bytes() != header.size_bytes) {
    return fail(error(Code::kBadOnnxTensor, at,
                      "tensor `{}` has {} bytes of data where its shape and type need {}", t.name(),
                      data->size_bytes(), header.size_bytes)
                    .with_remedy("write the model again; onnx.checker finds such tensors too"));
  }
  if (header.packed_bits > 0) {
    std::int64_t count = 1;
    for (const std::int64_t n : header.shape) count *= n;
    data = unpack(*data, count, header);
  }
  return Tensor(std::move(header.shape), header.dtype, std::move(data));
}

Result<Tensor> inline_tensor(const onnx::TensorProto& t, const Location& at) {
  TESSERA_TRY(TensorHeader header, tensor_header(t, at));
  const DType dtype = header.dtype;
  return make_tensor(t, std::move(header), inline_data(t, dtype), at);
}

}  // namespace tessera::import
