// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace tessera::python {
namespace {

constexpr std::size_t kAlign = 64;  // a cache line, and what any output asks for

std::int64_t elements(const tessera_tensor& t) {
  std::int64_t count = 1;
  for (int d = 0; d < t.ndim; ++d) count *= t.shape[d];
  return count;
}

std::size_t bytes_of(const tessera_tensor& t) {
  return static_cast<std::size_t>(elements(t)) * t.dtype.bits / 8;
}

std::shared_ptr<void> allocate(std::size_t bytes) {
  void* memory = std::aligned_alloc(kAlign, (bytes / kAlign + 1) * kAlign);
  if (memory == nullptr) throw std::bad_alloc();
  return {memory, std::free};
}

// Numpy's has no bfloat16: its elements go as integers of that size and get their type there.
nb::dlpack::dtype numpy_type(tessera_dtype t) {
  const bool is_bfloat = t.code == TESSERA_BFLOAT;
  return {is_bfloat ? std::uint8_t{TESSERA_UINT} : t.code, t.bits, 1};
}

}  // namespace

Call::Call(Model& model, const nb::sequence& arrays, nb::handle outs, bool copy, nb::handle stream)
    : model_(model) {
  if (!stream.is_none()) {
    stream_ = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(stream));
  }
  // Producers know the default stream by the number 1.
  const nb::int_ number(stream_ && *stream_ != nullptr ? nb::cast<std::uintptr_t>(stream) : 1);
  nb::handle ready_for;
  if (stream_) ready_for = number;
  std::size_t index = 0;
  for (const nb::handle array : arrays) {
    const bool is_known = index < model.inputs_.size();
    Copies unknown = Copies::kSilent, refused = Copies::kRefuse;
    Copies& copies = !copy ? refused : is_known ? model.copies_[index] : unknown;
    input_views_.push_back(usable(array, is_known ? model.inputs_[index].name : "",
                                  is_known ? model.inputs_[index].align_bytes : 1, copies,
                                  ready_for));
    given_.push_back(nb::borrow(array));
    ++index;
  }
  for (const ArrayView& view : input_views_) inputs_.push_back(view.tensor());
  outputs_.resize(model.outputs_.size());
  outs.is_none() ? make_outputs() : take_outputs(outs, ready_for);
}

void Call::take_outputs(nb::handle outs, nb::handle stream) {
  for (const nb::handle out : outs) {
    const std::size_t index = output_views_.size();
    if (index == outputs_.size()) break;
    const char* name = model_.outputs_[index].name;
    ArrayView view(out, name, stream);
    if (view.is_read_only() || !view.is_compact()) {
      throw CallFailed(TESSERA_INVALID_ARGUMENT,
                       std::string("the array for output `") + name +
                           (view.is_read_only() ? "` is read-only" : "` is not contiguous"));
    }
    view.tensor().strides = nullptr;
    output_views_.push_back(std::move(view));
    given_.push_back(nb::borrow(out));
  }
  if (output_views_.size() != outputs_.size() || nb::len(outs) != outputs_.size()) {
    throw CallFailed(TESSERA_INVALID_ARGUMENT, "the model has " + std::to_string(outputs_.size()) +
                                                   " outputs, and `out` " +
                                                   std::to_string(nb::len(outs)));
  }
  for (const ArrayView& view : output_views_) {
    const tessera_tensor& t = view.tensor();
    shapes_.emplace_back(t.shape, t.shape + t.ndim);
  }
}

void Call::make_outputs() {
  shapes_ = model_.fixed_shapes_;
  if (shapes_.empty()) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      shapes_.emplace_back(static_cast<std::size_t>(model_.outputs_[i].ndim), 0);
      outputs_[i].shape = shapes_[i].data();
    }
    model_.library_.check(model_.call().model_output_shapes(
        model_.model_, inputs_.data(), static_cast<std::int32_t>(inputs_.size()), outputs_.data(),
        static_cast<std::int32_t>(outputs_.size())));
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    bool is_known = true;
    for (const std::int64_t size : shapes_[i]) is_known = is_known && size >= 0;
    const tessera_io& io = model_.outputs_[i];
    const tessera_tensor out = {nullptr,           {TESSERA_CPU, 0}, io.ndim, io.dtype,
                                shapes_[i].data(), nullptr,          0};
    memory_.push_back(is_known ? allocate(bytes_of(out)) : nullptr);
  }
  results_ = memory_;
}

void Call::reset_outputs() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!output_views_.empty()) {
      outputs_[i] = output_views_[i].tensor();
      std::memcpy(outputs_[i].shape, shapes_[i].data(), shapes_[i].size() * sizeof shapes_[i][0]);
      continue;
    }
    const tessera_io& io = model_.outputs_[i];
    outputs_[i] = {memory_[i].get(), {TESSERA_CPU, 0}, io.ndim, io.dtype, nullptr, nullptr, 0};
    if (memory_[i] != nullptr) outputs_[i].shape = shapes_[i].data();
  }
}

void Call::operator()() {
  const Loan instance(model_);
  reset_outputs();
  const auto input_count = static_cast<std::int32_t>(inputs_.size());
  const auto output_count = static_cast<std::int32_t>(outputs_.size());
  const auto& call = model_.call();
  std::int32_t status = TESSERA_OK;
  {
    const nb::gil_scoped_release unlocked;
    status = stream_ ? call.instance_run_on_stream(instance.get(), *stream_, inputs_.data(),
                                                   input_count, outputs_.data(), output_count)
                     : call.instance_run(instance.get(), inputs_.data(), input_count,
                                         outputs_.data(), output_count);
  }
  model_.library_.check(status);
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (memory_[i] == nullptr) keep_own_result(i);
  }
}

// The instance's memory is the next run's.
void Call::keep_own_result(std::size_t index) {
  tessera_tensor& t = outputs_[index];
  shapes_[index].assign(t.shape, t.shape + t.ndim);
  const std::shared_ptr<void> kept = allocate(bytes_of(t));
  std::memcpy(kept.get(), static_cast<const char*>(t.data) + t.byte_offset, bytes_of(t));
  t = {kept.get(), {TESSERA_CPU, 0}, t.ndim, t.dtype, shapes_[index].data(), nullptr, 0};
  results_[index] = kept;
}

nb::object Call::result(std::size_t index) {
  const tessera_tensor& t = outputs_[index];
  if (!output_views_.empty()) {
    const nb::object& given = given_[inputs_.size() + index];
    const bool is_all = std::equal(shapes_[index].begin(), shapes_[index].end(), t.shape);
    if (is_all) return given;
    return helper("part_of")(given, nb::cast(std::vector<std::int64_t>(t.shape, t.shape + t.ndim)));
  }
  const std::vector<std::size_t> shape(t.shape, t.shape + t.ndim);
  auto* memory = new std::shared_ptr<void>(results_[index]);
  const nb::capsule owner(memory,
                          [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
  nb::object array = nb::cast(nb::ndarray<nb::numpy>(t.data, shape.size(), shape.data(), owner,
                                                     nullptr, numpy_type(t.dtype)));
  return t.dtype.code == TESSERA_BFLOAT ? helper("as_bfloat16")(array) : array;
}

nb::list Call::results() {
  nb::list all;
  for (std::size_t i = 0; i < outputs_.size(); ++i) all.append(result(i));
  return all;
}

}  // namespace tessera::python
