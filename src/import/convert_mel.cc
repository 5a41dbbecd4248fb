// SPDX-License-Identifier: Apache-2.0
// MelWeightMatrix: triangles over the bins of a spectrogram, as many as there are mel bins.
#include <cmath>

#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

Value mel_number(Node& n, std::size_t i) { return input(n, i).cast(kFloat64).reshape({}); }

// 2595 log10(1 + f / 700)
Value mel_of(Value hertz) { return (hertz / 700.0 + 1.0).apply("log") * (2595 / std::log(10.0)); }
Value hertz_of(Value mel) { return ((mel * (std::log(10.0) / 2595)).apply("exp") - 1.0) * 700.0; }

// The bin of the spectrogram at each corner of the triangles, of which each begins where the one
// before has its peak.
Value corners(Node& n, std::int64_t mel_bins) {
  const Value low = mel_of(mel_number(n, 3)), high = mel_of(mel_number(n, 4));
  const auto count = static_cast<double>(mel_bins + 2);
  const Value step = (high - low) / count;
  const Value hertz = hertz_of(iota(n, mel_bins + 2, kFloat64) * step + low);
  const Value length = mel_number(n, 1) + 1.0, rate = mel_number(n, 2);
  return (length * hertz / rate).apply("floor");
}

// What is computed of numbers that come at run time has the shape that the model states.
Ints matrix_shape(Node& n) {
  const auto mel_bins = n.known_int(0), length = n.known_int(1);
  if (mel_bins && length) return {*length / 2 + 1, *mel_bins};
  const auto declared = n.declared_shape(0, 2);
  if (!declared) n.need_constant(mel_bins ? 1 : 0, "a number of bins");
  return *declared;
}

std::vector<NodeId> convert_mel_weight_matrix(Node& n) {
  n.input(0);
  const Ints shape = matrix_shape(n);
  const std::int64_t bins = shape[0], mel_bins = shape[1];
  if (bins < 1 || mel_bins < 0) {
    n.invalid(Code::kBadDimension, fmt::format("its matrix has {} x {} elements", bins, mel_bins));
  }
  n.make_room(4 * static_cast<double>(bins) * static_cast<double>(mel_bins));
  const Value at = corners(n, mel_bins);
  const Value left = at.slice(0, 0, mel_bins), peak = at.slice(0, 1, mel_bins + 1);
  const Value right = at.slice(0, 2, mel_bins + 2);
  const Value bin = iota(n, bins, kFloat64).expand_dims(1);
  const Value rising_bins = maximum(peak - left, 1.0), falling_bins = maximum(right - peak, 1.0);
  const Value rise = (bin - left) / rising_bins, fall = (right - bin) / falling_bins;
  // A triangle that begins at its peak has 1 there.
  const Value one = rise.number(1), zero = rise.number(0);
  const Value rising = where(bin < peak, rise, one);
  const Value y = where(bin <= peak, rising, fall);
  const Value begins = bin >= left, ends = bin <= maximum(right - 1.0, peak);
  const DType dtype = n.dtype_attr("output_datatype", kFloat32);
  return {where(begins && ends, y, zero).cast(dtype)};
}

constexpr Converter kMelTable[] = {
    {"MelWeightMatrix", 17, convert_mel_weight_matrix},
};

}  // namespace

extern const std::span<const Converter> mel_converters;
const std::span<const Converter> mel_converters = kMelTable;

}  // namespace tessera::import
