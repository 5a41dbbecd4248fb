// SPDX-License-Identifier: Apache-2.0
//
// Tensors as the caller, the produced library and its kernels exchange them.
//
// `tessera_tensor` has the layout of DLPack's DLTensor, member by member, so that a pointer to one
// may be cast to a pointer to the other. The header is our own: a program that uses a model needs
// nothing else installed.
#ifndef TESSERA_TENSOR_H_
#define TESSERA_TENSOR_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Kinds of scalar; numbers are DLPack's. An `enum` only names them: the field in `tessera_dtype` is
// one byte.
enum {
  TESSERA_INT = 0,
  TESSERA_UINT = 1,
  TESSERA_FLOAT = 2,
  TESSERA_OPAQUE_HANDLE = 3,
  TESSERA_BFLOAT = 4,
  TESSERA_COMPLEX = 5,
  TESSERA_BOOL = 6  // one byte an element, 0 or 1; bits = 8
};

// Kinds of device; numbers are DLPack's.
enum { TESSERA_CPU = 1, TESSERA_CUDA = 2, TESSERA_CUDA_HOST = 3 };

// float32 is {TESSERA_FLOAT, 32, 1}; lanes is 1 in everything that crosses this interface.
typedef struct tessera_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} tessera_dtype;

typedef struct tessera_device {
  int32_t device_type;
  int32_t device_id;
} tessera_device;

// A view; it owns neither data nor shape.
typedef struct tessera_tensor {
  void* data;
  tessera_device device;
  int32_t ndim;
  tessera_dtype dtype;
  int64_t* shape;        // ndim numbers; may be null if ndim is 0
  int64_t* strides;      // in elements; null means row-major and compact
  uint64_t byte_offset;  // the first element is at data + byte_offset
} tessera_tensor;

#ifdef __cplusplus
}
#endif

#endif  // TESSERA_TENSOR_H_
