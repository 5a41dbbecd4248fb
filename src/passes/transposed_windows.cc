// SPDX-License-Identifier: Apache-2.0
#include "passes/transposed_windows.h"

#include <algorithm>
#include <numeric>

#include "tir/expr_ops.h"

namespace tessera::passes {
namespace {

// The windows of one phase: results at q * stride + phase (pads included) are sums over
// data[q - behind - t * dilation] * kernel[first + t * stride].
struct Phase {
  std::int64_t first, behind, taps;
};

Phase phase_of(const TransposedWindow& w, std::int64_t phase) {
  Phase p{0, 0, 0};
  while (p.first * w.dilation % w.stride != phase) ++p.first;
  p.behind = (p.first * w.dilation - phase) / w.stride;
  p.taps = std::max<std::int64_t>(0, (w.kernel - p.first + w.stride - 1) / w.stride);
  return p;
}

void add_phase(std::vector<PhaseRun>& runs, const TransposedWindow& w, const Phase& p,
               std::int64_t last) {
  PhaseRun run{0,
               p.taps,
               {},
               p.behind + (p.taps - 1) * w.dilation - w.pad_begin / w.stride,
               tir::floor_div(last, w.stride) - p.behind};
  const bool continues =
      !runs.empty() && runs.back().taps == run.taps && runs.back().pad_end == run.pad_end;
  if (!continues) runs.push_back(std::move(run));
  ++runs.back().phases;
  for (std::int64_t t = p.taps; t-- > 0;) {
    runs.back().elements.push_back(p.first + t * w.stride);
  }
}

}  // namespace

std::optional<TransposedAxis> transposed_axis(const TransposedWindow& w) {
  if (std::gcd(w.stride, w.dilation) != 1) return std::nullopt;
  // The last result, as phases count them, beyond those of the last element of the data.
  const std::int64_t last = (w.kernel - 1) * w.dilation + w.output_padding - w.pad_end;
  TransposedAxis a{w.kernel, w.stride, w.dilation, {}, 0, w.pad_begin % w.stride, 0};
  for (std::int64_t phase = 0; phase < w.stride; ++phase) {
    const Phase p = phase_of(w, phase);
    if (p.taps == 0) {
      ++a.empty;
    } else if (a.empty > 0) {
      return std::nullopt;
    } else {
      add_phase(a.runs, w, p, last);
    }
  }
  // Windows that begin behind the data's first element, or end before its last, make more places,
  // which nobody wants.
  std::int64_t before = 0, after = 0;
  for (const PhaseRun& run : a.runs) {
    before = std::max(before, -run.pad_begin);
    after = std::max(after, -run.pad_end);
  }
  for (PhaseRun& run : a.runs) {
    run.pad_begin += before;
    run.pad_end += after;
  }
  a.skipped += before * w.stride;
  a.cut = (tir::floor_div(last, w.stride) + 1 + after) * w.stride - (last + 1);
  return a;
}

void TransposedAxis::make_room(std::int64_t fewest) {
  const PhaseRun& run = runs[0];
  const std::int64_t places = fewest + run.pad_begin + run.pad_end - (run.taps - 1) * dilation;
  const std::int64_t more = std::max<std::int64_t>(0, 1 - places);
  for (PhaseRun& each : runs) each.pad_end += more;
  cut += more * stride;
}

Dim TransposedAxis::size(const Dim& data) const {
  const PhaseRun& run = runs[0];
  const Dim places = data + Dim(run.pad_begin + run.pad_end - (run.taps - 1) * dilation);
  const Dim all = places * Dim(stride);
  return max(max(all - Dim(cut), Dim(0)) - min(Dim(skipped), all), Dim(0));
}

}  // namespace tessera::passes
