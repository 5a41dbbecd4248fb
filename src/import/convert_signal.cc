// SPDX-License-Identifier: Apache-2.0
// Signals: windows, DFT, STFT; and Det. Transforms are products with a constant matrix.
#include <cmath>

#include <fmt/format.h>

#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// a0 - a1 cos(2 pi k / n) + a2 cos(4 pi k / n)
std::vector<NodeId> cosine_window(Node& n, double a0, double a1, double a2) {
  const auto known = n.known_int(0);
  const auto declared = n.declared_shape(0);
  if (!known && (!declared || declared->size() != 1)) n.need_constant(0, "a size");
  const std::int64_t size = known ? *known : declared->front();
  if (size < 0) n.invalid(Code::kBadDimension, fmt::format("its size is {}", size));
  const bool periodic = n.flag_attr("periodic", true);
  const DType dtype = n.dtype_attr("output_datatype", kFloat32);
  n.make_room(static_cast<double>(size));
  const double step =
      2 * M_PI / static_cast<double>(periodic ? size : std::max<std::int64_t>(size - 1, 1));
  std::vector<double> values;
  for (std::int64_t k = 0; k < size; ++k) {
    const double angle = step * static_cast<double>(k);
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return {numbers(n, {size}, values, dtype)};
}

std::vector<NodeId> convert_hann(Node& n) { return cosine_window(n, 0.5, 0.5, 0); }
std::vector<NodeId> convert_hamming(Node& n) { return cosine_window(n, 25.0 / 46, 21.0 / 46, 0); }
std::vector<NodeId> convert_blackman(Node& n) { return cosine_window(n, 0.42, 0.5, 0.08); }

// cos or sin of 2 pi i j / length: (length, results).
Value fourier(Node& n, std::int64_t length, std::int64_t results, bool sine, DType dtype) {
  n.make_room(static_cast<double>(length) * static_cast<double>(results));
  std::vector<double> values;
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t j = 0; j < results; ++j) {
      const double angle =
          2 * M_PI * static_cast<double>(i * j % length) / static_cast<double>(length);
      values.push_back(sine ? std::sin(angle) : std::cos(angle));
    }
  }
  return numbers(n, {length, results}, values, dtype);
}

// The transform of the last but one dimension of (..., length, 1 or 2): (..., results, 2).
Value transform(Value x, std::int64_t results, bool inverse) {
  Node& n = x.node();
  const std::int64_t length = x.size(x.rank() - 2), parts = x.rank() - 1;
  if (length < 1) n.invalid(Code::kShapeMismatch, "a transform of no element");
  if (x.size(parts) != 1 && x.size(parts) != 2) {
    n.invalid(Code::kShapeMismatch,
              "the last dimension holds real and imaginary parts, one or two");
  }
  const Value cosine = fourier(n, length, results, false, x.dtype());
  const Value sine = fourier(n, length, results, true, x.dtype()) * (inverse ? -1.0 : 1.0);
  const Value real = x.at(parts, 0);
  // Vectors have no matrix product of their own.
  const auto times = [&](Value v, Value m) {
    Shape sizes = v.shape();
    const Value y = v.merge(0, v.rank() - 1).matmul(m);
    sizes.back() = results;
    return y.reshape_to(sizes);
  };
  Value re = times(real, cosine), im = times(real, sine).apply("negative");
  if (x.size(parts) == 2) {
    const Value imaginary = x.at(parts, 1);
    re = re + times(imaginary, sine);
    im = im + times(imaginary, cosine);
  }
  const Value y = stack(n, {re, im}, parts);
  return inverse ? y / static_cast<double>(length) : y;
}

// Cut, or filled up with zeros.
Value with_length(Value x, std::int64_t axis, std::int64_t length) {
  const std::int64_t size = x.size(axis);
  if (size >= length) return x.slice(axis, 0, length);
  relay::AttrArray width(static_cast<std::size_t>(x.rank()), relay::AttrArray{0, 0});
  width[static_cast<std::size_t>(axis)] = relay::AttrArray{0, length - size};
  return {x.node(), x.node().call("nn.pad", {x, x.number(0)}, {{"pad_width", width}})};
}

// The real signal of so many elements of which these (..., length / 2 + 1, 1 or 2) are the first
// half of the transform: the other half is its mirror image.
Value real_inverse(Value x, std::int64_t length) {
  Node& n = x.node();
  const std::int64_t half = length / 2 + 1, axis = x.rank() - 2;
  n.make_room(static_cast<double>(length));
  x = with_length(x, axis, half);
  if (x.size(x.rank() - 1) == 1) x = concat(n, {x, x * 0.0}, x.rank() - 1);
  Ints mirrored;
  for (std::int64_t k = half; k < length; ++k) mirrored.push_back(length - k);
  if (!mirrored.empty()) {
    const Value conjugate = numbers(n, {2}, {1, -1}, x.dtype());
    x = concat(n, {x, x.take(n.ints(mirrored), axis) * conjugate}, axis);
  }
  return transform(x, length, true).slice(x.rank() - 1, 0, 1);
}

// The elements that are transformed; half of them stand for all in the inverse of a one-sided one.
std::int64_t dft_length(Node& n, std::int64_t axis) {
  if (n.has_input(1)) return n.need_int(1, "a length");
  const std::int64_t size = n.size(n.input(0), axis);
  return n.flag_attr("inverse", false) && n.flag_attr("onesided", false) ? 2 * (size - 1) : size;
}

Value dft(Node& n, std::int64_t axis) {
  Value x = input(n, 0);
  if (x.rank() < 2) n.invalid(Code::kShapeMismatch, "its input must have two dimensions or more");
  const bool inverse = n.flag_attr("inverse", false), onesided = n.flag_attr("onesided", false);
  Ints order = range(0, x.rank());
  std::swap(order[static_cast<std::size_t>(axis)], order[static_cast<std::size_t>(x.rank() - 2)]);
  const std::int64_t length = dft_length(n, axis);
  if (length < 1) n.invalid(Code::kWrongAttribute, fmt::format("its length is {}", length));
  if (inverse && onesided) return real_inverse(x.transpose(order), length).transpose(order);
  if (n.has_input(1)) x = with_length(x, axis, length);
  const Value y = transform(x.transpose(order), onesided ? length / 2 + 1 : length, inverse);
  return y.transpose(order);
}

std::vector<NodeId> convert_dft(Node& n) { return {dft(n, n.axis_attr(1, n.input(0)))}; }

// One that comes at run time: of the transforms along all axes whose results have the shape that
// the model states one is taken.
std::vector<NodeId> convert_dft20(Node& n) {
  const std::int64_t rank = n.rank(n.input(0));
  if (!n.has_input(2)) return {dft(n, n.axis(-2, rank))};
  if (const auto known = n.known_int(2)) return {dft(n, n.axis(*known, rank))};
  const auto declared = n.declared_shape(0, rank);
  if (!declared) n.need_constant(2, "an axis");
  const Value given = floor_mod(input(n, 2).cast(kInt64).reshape({}), static_cast<double>(rank));
  std::optional<Value> result;
  for (std::int64_t axis = 0; axis < rank - 1; ++axis) {
    if (dft_length(n, axis) < 1) continue;
    const Value one = dft(n, axis);
    if (one.sizes() != *declared) continue;
    result = result ? where(equal(given, static_cast<double>(axis)), one, *result) : one;
  }
  if (!result) n.need_constant(2, "an axis");
  return {*result};
}

// With a step that comes at run time, as many frames as the model states.
Dim frame_count(Node& n, const Dim& signal, std::int64_t length) {
  const auto step = n.known_int(1);
  if (!step) {
    const auto declared = n.declared_shape(0);
    if (!declared || declared->size() != 4) n.need_constant(1, "a frame step");
    return (*declared)[1];
  }
  if (*step < 1 || length < 1 || (signal.is_constant() && length > signal.constant())) {
    n.invalid(Code::kWrongAttribute, "its frames do not fit its signal");
  }
  return floor_div(signal - Dim(length), Dim(*step)) + Dim(1);
}

// The signal (batch, elements, parts), after a check that a frame fits into it.
Value fitting(Value x, std::int64_t length) {
  if (x.dim(1).is_constant()) return x;
  const Value enough = iota(maximum(size_of(x, 1), static_cast<double>(length)));
  return x.matched(1, enough, 0);
}

// Frames of the signal, each times the window, transformed.
Value stft(Node& n, Value x, std::int64_t length) {
  if (length < 1)
    n.invalid(Code::kWrongAttribute, fmt::format("its frames have {} elements", length));
  const Value step = input(n, 1).cast(kInt64).reshape({});
  const Value frames = size_of(n, frame_count(n, x.dim(1), length));
  const Value places = (iota(frames) * step).expand_dims(1) + iota(n, length);
  Value framed = fitting(x, length).take(places, 1);
  if (n.has_input(2)) framed = framed * input(n, 2).reshape({length, 1});
  const bool onesided = n.flag_attr("onesided", true);
  return transform(framed, onesided ? length / 2 + 1 : length, false);
}

// Where a length comes at run time, the model states how many results there are; two lengths have
// as many where they are one-sided.
Value stft_by_data(Node& n, Value x) {
  const auto declared = n.declared_shape(0, 4);
  if (!declared || (*declared)[2] < 1) n.need_constant(3, "a frame length");
  const std::int64_t results = (*declared)[2];
  if (!n.flag_attr("onesided", true)) return stft(n, x, results);
  const std::int64_t even = 2 * (results - 1);
  if (even < 1) return stft(n, x, 1);
  const Value length = input(n, 3).cast(kInt64).reshape({});
  const Value shorter = stft(n, x, even), longer = stft(n, x, even + 1);
  return where(equal(length, static_cast<double>(even)), shorter, longer);
}

std::vector<NodeId> convert_stft(Node& n) {
  Value x = input(n, 0);
  if (x.rank() == 2) x = x.expand_dims(2);
  if (x.rank() != 3) n.invalid(Code::kShapeMismatch, "its signal must have 2 or 3 dimensions");
  if (!n.has_input(2) && !n.has_input(3))
    n.invalid(Code::kWrongArity, "it needs a window or a length");
  if (n.has_input(3)) n.input(3);
  if (n.has_input(2)) return {stft(n, x, product(n.sizes(n.input(2))))};
  if (!n.known_int(3)) return {stft_by_data(n, x)};
  return {stft(n, x, n.need_int(3, "a frame length"))};
}

// By the first row; matrices that models invert are small.
Value determinant(Value x) {
  const std::int64_t rank = x.rank(), size = x.size(rank - 1);
  if (size == 1) return x.at(rank - 1, 0).at(rank - 2, 0);
  const Value first = x.at(rank - 2, 0), below = x.slice(rank - 2, 1, size);
  std::optional<Value> sum;
  for (std::int64_t j = 0; j < size; ++j) {
    std::vector<Value> parts;
    if (j > 0) parts.push_back(below.slice(rank - 1, 0, j));
    if (j + 1 < size) parts.push_back(below.slice(rank - 1, j + 1, size));
    const Value term = first.at(rank - 2, j) * determinant(concat(x.node(), parts, rank - 1));
    if (!sum)
      sum = term;
    else
      sum = j % 2 == 0 ? *sum + term : *sum - term;
  }
  return *sum;
}

std::vector<NodeId> convert_det(Node& n) {
  const Value x = input(n, 0);
  const std::int64_t rank = x.rank();
  if (rank < 2 || x.size(rank - 1) != x.size(rank - 2)) {
    n.invalid(Code::kShapeMismatch, "its matrices are not square");
  }
  if (x.size(rank - 1) > 5) n.unsupported("a matrix of more than 5 rows");
  return {determinant(x)};
}

constexpr Converter kSignalTable[] = {
    {"HannWindow", 17, convert_hann},
    {"HammingWindow", 17, convert_hamming},
    {"BlackmanWindow", 17, convert_blackman},
    {"DFT", 17, convert_dft},
    {"DFT", 20, convert_dft20},
    {"STFT", 17, convert_stft},
    {"Det", 11, convert_det},
};

}  // namespace

extern const std::span<const Converter> signal_converters;
const std::span<const Converter> signal_converters = kSignalTable;

}  // namespace tessera::import
