// SPDX-License-Identifier: Apache-2.0
#include "emit/c_text.h"

namespace tessera::emit {
namespace {

Literal code_name(TypeCode code) {
  switch (code) {
    case TypeCode::kInt:
      return "TESSERA_INT";
    case TypeCode::kUInt:
      return "TESSERA_UINT";
    case TypeCode::kFloat:
      return "TESSERA_FLOAT";
    case TypeCode::kHandle:
      return "TESSERA_OPAQUE_HANDLE";
    case TypeCode::kBFloat:
      return "TESSERA_BFLOAT";
    case TypeCode::kBool:
      return "TESSERA_BOOL";
  }
  return "";
}

constexpr std::string_view kReservedWords[] = {
    "begin", "buffers", "call", "closure", "dims", "end", "loop", "run", "self", "status", "worker",
};

}  // namespace

std::span<const std::string_view> reserved_words() { return kReservedWords; }

Source c_dtype(DType dtype) {
  return source("{{{}, {}, {}}}", code_name(dtype.code), dtype.bits, dtype.lanes);
}

}  // namespace tessera::emit
