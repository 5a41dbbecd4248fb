// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "model_library/library.h"

namespace nb = nanobind;

namespace tessera::python {
namespace {

// The scalar that a format of the buffer protocol names; bits of 0: none that is known.
tessera_dtype scalar_of(const char* format, Py_ssize_t item_bytes) {
  const auto bits = static_cast<std::uint8_t>(8 * item_bytes);
  if (format == nullptr) return {TESSERA_UINT, bits, 1};
  if (*format == '<' || *format == '=' || *format == '@' || (*format == '|')) ++format;
  if (*format == '\0' || format[1] != '\0') return {};
  if (std::strchr("bhilqn", *format) != nullptr) return {TESSERA_INT, bits, 1};
  if (std::strchr("BHILQN", *format) != nullptr) return {TESSERA_UINT, bits, 1};
  if (std::strchr("efd", *format) != nullptr) return {TESSERA_FLOAT, bits, 1};
  if (*format == '?') return {TESSERA_BOOL, bits, 1};
  return {};
}

int dlpack_place(nb::handle array) { return nb::cast<int>(array.attr("__dlpack_device__")()[0]); }

bool lies_on_device(nb::handle array) {
  return nb::hasattr(array, "__dlpack_device__") && dlpack_place(array) == TESSERA_CUDA;
}

}  // namespace

nb::object helper(const char* name) {
  // Never given up: it may be asked for until the interpreter ends.
  static PyObject* helpers = nb::module_::import_("tessera._arrays").release().ptr();
  return nb::handle(helpers).attr(name);
}

ArrayView::ArrayView(nb::handle array, const char* name, nb::handle stream) {
  if (take_buffer(array)) return;
  // What has a buffer of other elements is numpy's, whose DLPack knows no more of them, or CuPy's,
  // which has one where the host sees the device's memory.
  const bool has_buffer = PyObject_CheckBuffer(array.ptr()) != 0;
  if ((!has_buffer || lies_on_device(array)) && take_dlpack(array, stream)) return;
  // A pair: what has a buffer, and whether its elements are bfloat16.
  const nb::object made = helper("buffer_of")(array, name);
  if (made[1].equal(nb::bool_(true))) {
    if (!take_buffer(made[0])) throw nb::type_error("an array of bfloat16 without a buffer");
    tensor_.dtype = {TESSERA_BFLOAT, 16, 1};
  } else if (!take_buffer(made[0])) {
    helper("refuse_type")(array, name);  // raises
  }
}

ArrayView::ArrayView(ArrayView&& other) noexcept
    : tensor_(other.tensor_),
      buffer_(other.buffer_),
      keeper_(std::move(other.keeper_)),
      sizes_(other.sizes_),
      has_buffer_(std::exchange(other.has_buffer_, false)),
      is_read_only_(other.is_read_only_) {
  if (tensor_.shape == other.sizes_.data()) tensor_.shape = sizes_.data();
}

ArrayView::~ArrayView() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

bool ArrayView::take_buffer(nb::handle array) {
  if (!PyObject_CheckBuffer(array.ptr())) return false;
  if (PyObject_GetBuffer(array.ptr(), &buffer_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();  // a type that the protocol has no letter for
    return false;
  }
  has_buffer_ = true;
  const tessera_dtype dtype = scalar_of(buffer_.format, buffer_.itemsize);
  if (dtype.bits == 0 || buffer_.ndim > static_cast<int>(sizes_.size())) {
    PyBuffer_Release(&buffer_);
    return has_buffer_ = false;
  }
  is_read_only_ = buffer_.readonly != 0;
  for (int d = 0; d < buffer_.ndim; ++d) sizes_[static_cast<std::size_t>(d)] = buffer_.shape[d];
  tensor_ = {buffer_.buf, {TESSERA_CPU, 0}, buffer_.ndim, dtype, sizes_.data(), nullptr, 0};
  return true;
}

bool ArrayView::take_dlpack(nb::handle array, nb::handle stream) {
  if (!nb::hasattr(array, "__dlpack__")) return false;
  const int place = dlpack_place(array);
  const bool is_host = place == TESSERA_CPU || place == TESSERA_CUDA_HOST;
  if (!is_host && !stream.is_valid()) helper("wait_for")(array);
  keeper_ = is_host || !stream.is_valid() ? array.attr("__dlpack__")()
                                          : array.attr("__dlpack__")(nb::arg("stream") = stream);
  // The layout of DLPack's DLManagedTensor begins with the tensor; the capsule, which is not taken,
  // gives it up when it goes.
  const void* managed = PyCapsule_GetPointer(keeper_.ptr(), "dltensor");
  if (managed == nullptr) throw nb::python_error();
  tensor_ = *static_cast<const tessera_tensor*>(managed);
  tensor_.data = static_cast<char*>(tensor_.data) + tensor_.byte_offset;
  tensor_.byte_offset = 0;
  if (is_host) tensor_.device = {TESSERA_CPU, 0};
  own_sizes();
  return true;
}

// A run writes the sizes of what it gives, and a producer's may be those of its array itself.
void ArrayView::own_sizes() {
  if (tensor_.ndim > static_cast<int>(sizes_.size())) {
    throw model_library::CallFailed(TESSERA_INVALID_ARGUMENT,
                                    "an array has " + std::to_string(tensor_.ndim) +
                                        " dimensions, more than the " +
                                        std::to_string(sizes_.size()) + " that models have");
  }
  std::copy_n(tensor_.shape, tensor_.ndim, sizes_.begin());
  tensor_.shape = sizes_.data();
}

bool ArrayView::is_compact() const {
  if (has_buffer_) return PyBuffer_IsContiguous(&buffer_, 'C') != 0;
  if (tensor_.strides == nullptr) return true;
  std::int64_t step = 1;
  for (int d = tensor_.ndim - 1; d >= 0; --d) {
    if (tensor_.shape[d] == 0) return true;
    if (tensor_.shape[d] != 1 && tensor_.strides[d] != step) return false;
    step *= tensor_.shape[d];
  }
  return true;
}

bool ArrayView::is_aligned(std::uint64_t align_bytes) const {
  return align_bytes < 2 || reinterpret_cast<std::uintptr_t>(tensor_.data) % align_bytes == 0;
}

ArrayView usable(nb::handle array, const char* name, std::uint64_t align_bytes, Copies& copies,
                 nb::handle stream) {
  ArrayView view(array, name, stream);
  const bool is_compact = view.is_compact();
  // Where data lie on a device is the library's to judge.
  const bool is_right = is_compact && (view.is_on_device() || view.is_aligned(align_bytes));
  if (is_right) {
    view.tensor().strides = nullptr;
    return view;
  }
  const nb::object given_stream = stream.is_valid() ? nb::borrow(stream) : nb::none();
  const nb::object copy =
      helper("copy_of")(array, name, align_bytes, is_compact, copies == Copies::kRefuse,
                        copies == Copies::kWarn, given_stream);
  copies = Copies::kSilent;
  ArrayView copied(copy, name, stream);
  copied.tensor().dtype = view.tensor().dtype;  // of bfloat16, a copy's elements are integers
  copied.tensor().strides = nullptr;
  return copied;
}

}  // namespace tessera::python
