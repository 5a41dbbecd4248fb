// SPDX-License-Identifier: Apache-2.0
// Python's arrays as tensors of the C interface, without a copy.
#pragma once

#include <array>
#include <cstdint>

#include <nanobind/nanobind.h>

#include "tessera/tensor.h"

namespace tessera::python {

// What to do with an array that is not contiguous, or not aligned.
enum class Copies : std::uint8_t { kWarn, kSilent, kRefuse };

// A view of an array's memory, which stays valid as long as this does. To be made, and to go, under
// the interpreter's lock.
class ArrayView {
 public:
  // Numpy's arrays and others with Python's buffer protocol, then DLPack, then what numpy can make
  // an array of without a copy (_arrays.buffer_of). Throws TypeError for anything else.
  // `stream` is what a producer of DLPack on a device has to make its data ready for.
  ArrayView(nanobind::handle array, const char* name, nanobind::handle stream);
  ArrayView(ArrayView&& other) noexcept;
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;
  ~ArrayView();

  tessera_tensor& tensor() { return tensor_; }
  const tessera_tensor& tensor() const { return tensor_; }
  bool is_compact() const;
  bool is_aligned(std::uint64_t align_bytes) const;
  bool is_read_only() const { return is_read_only_; }
  bool is_on_device() const { return tensor_.device.device_type == TESSERA_CUDA; }

 private:
  bool take_buffer(nanobind::handle array);
  bool take_dlpack(nanobind::handle array, nanobind::handle stream);
  void own_sizes();

  tessera_tensor tensor_{};
  Py_buffer buffer_{};
  nanobind::object keeper_;             // a capsule of DLPack
  std::array<std::int64_t, 64> sizes_;  // numpy has no more; a buffer's own are no int64_t
  bool has_buffer_ = false, is_read_only_ = false;
};

// The view, or one of a copy that is contiguous and aligned. A warning of a copy is the last.
ArrayView usable(nanobind::handle array, const char* name, std::uint64_t align_bytes,
                 Copies& copies, nanobind::handle stream);

// A function of tessera/_arrays.py, which does what is rare.
nanobind::object helper(const char* name);

}  // namespace tessera::python
